#include "cli/train/job_view.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/terminal/output.h"
#include "veche/comm/mpi/launch.h"
#include "veche/errors.h"
#include "veche/runtime/checkpoint/checkpoint.h"
#include "veche/runtime/record/run_folder.h"

namespace veche::cli {

std::string resume_command(const std::filesystem::path& folder, const Job* job) {
  const std::string command = fmt::format("veche train --resume {}", folder.string());
  return job == nullptr ? command : launcher_words(job->size()) + " " + command;
}

void tell_how_to_go_on(const std::filesystem::path& folder, const std::string& command) {
  std::optional<std::uint64_t> step;
  try {
    const RunFolder run = RunFolder::open(folder);
    step = CheckpointStore(run.checkpoints(), 1, run.id()).newest([](const DamagedPiece& piece) {
      tell("note: {}\n", one_line(piece.sentence()));
    });
  } catch (const std::exception& error) {  // the folder itself may be lost
    tell("note: {}\n", one_line(error.what()));
    return;
  }
  if (step)
    tell("Saved after step {}. Go on with:\n  {}\n", *step, command);
  else
    tell("Nothing was saved yet: start it again.\n");
}

JobView::JobView(bool quiet, Job& job, Reporter* reporter)
    : ProgressView(quiet || job.rank() != 0), job_(job), reporter_(reporter) {
  job_.on_loss([this](const std::string& sentence) { tell_failure(sentence); });
}

void JobView::on_start(const RunInfo& info) {
  {
    const MutexLock lock(mutex_);
    folder_ = info.folder;
    if (reporter_ != nullptr) reporter_->watch(folder_);
  }
  ProgressView::on_start(info);
}

void JobView::tell_failure(const std::string& sentence) {
  const MutexLock lock(mutex_);
  if (std::exchange(reported_, true)) return;
  tell_sentence(sentence);  // at once: the launcher may not leave much time
  if (!folder_.empty()) tell_how_to_go_on(folder_, resume_command(folder_, &job_));
  if (reporter_ != nullptr) reporter_->nothing_to_tell();
}

}  // namespace veche::cli
