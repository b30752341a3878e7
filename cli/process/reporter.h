#pragma once

#include <filesystem>
#include <string>

namespace veche::cli {

// A small process beside the first rank of a job, outside MPI, that outlives it. Some launchers and
// MPI libraries kill all ranks when one dies, before any rank can say how to resume. This process
// says it if the rank ends silently. Must be created before MPI and before any thread.
class Reporter {
 public:
  explicit Reporter(
      // the command before the run's folder: "mpirun -np 4 veche train --resume"
      const std::string& resume_words);
  // All is well, or the rank has reported the problem itself.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void watch(const std::filesystem::path& folder);
  void nothing_to_tell();

 private:
  void say(const std::string& line);

  int pipe_ = -1;
  int process_ = -1;
};

}  // namespace veche::cli
