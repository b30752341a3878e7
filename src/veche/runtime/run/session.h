#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/base/machine/denormals.h"
#include "veche/comm/cluster.h"
#include "veche/config.h"
#include "veche/data/sets/source.h"
#include "veche/learner.h"
#include "veche/run.h"
#include "veche/runtime/record/recorder.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/run_observer.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/view_epochs.h"
#include "veche/train/loop/plan.h"

namespace veche {

// What surrounds the training of every run, whichever engine trains it: the run's folder, its
// description, notices and measurements for the observer, the record of them, the damage found in
// the data, and the summary. One thread calls it. In a job every rank has a session, and methods
// marked "collective" are called by all of them.
class TrainingSession {
 public:
  struct Caller {
    RunObserver* observer = nullptr;
    const std::atomic<bool>* interrupted = nullptr;
    Job* job = nullptr;
  };
  // `own_learner`: the program trains a learner of its own instead of the model that the settings
  // name.
  TrainingSession(const Settings& settings, bool own_learner, Caller caller);

  Job* job() const { return caller_.job; }
  bool is_rank_zero() const { return veche::is_rank_zero(caller_.job); }
  // Collective: runs `work` on rank 0 alone; where it fails, it fails on every rank.
  void on_rank_zero(const std::function<void()>& work) const { run_on_rank_zero(caller_.job, work); }
  // Tells the observer of rank 0 a sentence.
  void notice(const std::string& sentence) const;
  const std::atomic<bool>& interrupted() const;

  // Collective: a new folder for the run, or the folder to resume. Rank 0 makes and locks it, and
  // the other ranks open it.
  void create_folder(const Settings& settings);
  void resume_folder(const std::filesystem::path& path);
  // A folder that the caller has made and locked.
  void use_folder(const RunFolder& folder);
  // None: nothing is kept.
  RunFolder* folder() { return folder_ ? &*folder_ : nullptr; }

  // What the description of a run follows from.
  struct Described {
    const TrainingPlan& plan;
    const DataSource& source;
    std::size_t parameters = 0;  // of this node's vector; not used for a model in stages
    int nodes = 1;
    std::uint64_t first_step = 0;
  };
  void describe(const Described& run);
  // The run continues from a checkpoint of this step.
  void continue_from(std::uint64_t step) { info_.first_step = step; }
  // On a grid: what changes with each view. The view begins after `begun.epochs` passes over the
  // data, at `begun.step`.
  void set_view(int nodes, std::uint64_t steps, double steps_per_epoch, const EpochCount& begun);
  const RunInfo& info() const { return info_; }

  // Denormal numbers are zero on all nodes alike while the returned object lives. Otherwise sums
  // would depend on which node adds.
  [[nodiscard]] static FlushDenormals equal_arithmetic() { return {}; }

  // Writes layout.json. `learner`: of any node here; not used for a model in stages.
  void write_layout(const std::optional<PipelinePlan>& pipeline, const Learner& learner,
                    const DataSource& source) const;

  // Collective: opens the record unless `recorded`, that is unless the folder has all measurements
  // already, and tells the observers that the run starts.
  void start(bool recorded = false);
  // The view that begins now is as `info` says. `members`: of each node; empty: not known.
  void start_view(std::vector<NodeMember> members);
  // Receives the reports of the local nodes during training; null: no observer.
  Observer* observer();

  // The result of the training that has ended, with the damage that readers of `source` found and
  // passed over, which the observer is told.
  RunResult result(const DataSource& source, Evaluation last,
                   std::vector<std::vector<float>> parameters) const;

  // Collective: closes the record and, unless the run was interrupted, writes summary.json.
  void finish(const RunResult& result);
  // Instead of `start` and `finish`: keeps the result of a run that ended without this process.
  void record_result(const RunResult& result);

 private:
  void open_folder(const std::function<RunFolder(const RunFolder::Notice&)>& open);
  void tell_damage(const RunResult& result) const;
  void write_summary(const RunResult& result) const;

  const Caller caller_;
  std::optional<RunFolder> folder_;
  std::optional<Recorder> recorder_;  // on rank 0, of a run with a folder that is not recorded yet
  RunInfo info_;
};

}  // namespace veche
