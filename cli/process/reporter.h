#pragma once

#include <filesystem>
#include <string>

namespace veche::cli {

// A small process beside the first rank of a job, outside MPI, that outlives it: some launchers and MPI
// libraries end all ranks the moment one dies, before any could say how to go on. It says so when the rank
// has ended without a word. Made before MPI and before any thread.
class Reporter {
 public:
  explicit Reporter(
      const std::string& resume_words);  // what the run's folder follows: "mpirun -np 4 veche train --resume"
  // All is well, or the rank has told by itself what is not.
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
