#pragma once

#include <filesystem>
#include <string>

#include "cli/process/reporter.h"
#include "cli/terminal/progress.h"
#include "veche/base/thread/mutex.h"
#include "veche/comm/cluster.h"

namespace veche::cli {

// Such as "mpirun -np 4 veche train --resume runs/x", or with srun; without a job, no launcher.
std::string resume_command(const std::filesystem::path& folder, const Job* job);

// Prints on standard error which step was saved last in a run's folder, and the command that
// resumes it.
void tell_how_to_go_on(const std::filesystem::path& folder, const std::string& command);

// Shows the run of a job on rank 0. When a rank is lost it prints how to resume.
class JobView : public ProgressView {
 public:
  JobView(bool quiet, Job& job, Reporter* reporter);
  ~JobView() override { job_.on_loss({}); }

  void on_start(const RunInfo& info) override;
  // Prints one sentence, and how to resume where something was saved. Only the first call prints.
  // Any thread.
  void tell_failure(const std::string& sentence);

 private:
  Job& job_;
  Reporter* const reporter_;  // may be null
  Mutex mutex_;
  std::filesystem::path folder_ VECHE_GUARDED_BY(mutex_);
  bool reported_ VECHE_GUARDED_BY(mutex_) = false;
};

}  // namespace veche::cli
