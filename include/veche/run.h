#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/export.h"
#include "veche/report.h"

namespace veche {

// Takes part in a run on the grid, whose members join and leave (docs/grid.md), instead of one with
// a fixed number of nodes. Without an invitation and without RunOptions::resume this process founds
// the run, and the Config is that of all members. With an invitation, or returning with its folder,
// a member takes the Config of the run. Its own Config holds only what it chooses for itself
// (`grid.*` addresses and name, data.path, run.out, cluster.nodes, ...); keys that repeat the run's
// values are accepted, other ones are a RequestError. A grid run never joins an MPI job.
struct GridMembership {
  std::optional<std::string> invitation = {};  // "VECHE1-...", from a member
  bool force = false;  // with `resume`: continue although most members of the last view are gone
  // The founder's: called once, before training, with an invitation for other members.
  std::function<void(const std::string& invitation)> on_invitation = {};
};

// Options of a run and its callbacks. Callbacks are called one at a time, from the run's threads.
// An exception from a callback ends the run and is rethrown by `wait`. In a job of several ranks,
// `on_start` is called on every rank and the other callbacks on rank 0 only.
struct RunOptions {
  std::filesystem::path resume = {};  // folder of the run to resume; empty: a new run
  bool restart = false;               // with `resume`: start over; the folder's contents are moved aside
  bool keep = true;                   // false: the run leaves no folder
  std::function<void(const RunInfo&)> on_start = {};
  std::function<void(const Progress&)> on_progress = {};      // about twice a second
  std::function<void(const Evaluation&)> on_evaluation = {};  // run.eval_every
  // One sentence for a person, such as a damaged checkpoint that was skipped.
  std::function<void(const std::string&)> on_notice = {};
  std::optional<GridMembership> grid = {};  // none: a run with a fixed number of nodes
};

struct RunResult {
  RunInfo info;
  Evaluation last;  // its `stopped` says why the run ended
  // Parameters by node. Nodes of other ranks are included only up to a million values in total;
  // beyond that their entries are empty. In a pipeline each node has its own part, and the entries
  // of other ranks are empty.
  std::vector<std::vector<float>> parameters;
  // Damaged samples that this process skipped (data.bad = "skip"), and sentences about the first
  // ones.
  std::uint64_t damaged_samples = 0;
  std::vector<std::string> damage;
  // The real duration when time is virtual (cluster.transport = "simulated"). `last.seconds` is
  // virtual then.
  std::optional<double> wall_seconds;
  // On the grid, after an interruption: whether other members continue the run.
  bool others_continue = false;
};

// A training run in the background of the program that created it. One thread calls the methods;
// any thread, also a callback, may call `stop` and `done`.
//
//   veche::Run run(veche::Config::from_file("train.toml"));
//   run.start();
//   const veche::RunResult result = run.wait();
//
// In a program started several times by mpirun or srun, the ranks train one model, as `veche train`
// does. Every rank creates the same runs in the same order, the first of them on its main thread.
class VECHE_API Run {
 public:
  // Checks the configuration; throws RequestError. To resume, pass the run folder's own
  // config.toml.
  explicit Run(const Config& config, RunOptions options = {});
  // Stops the run and waits for it.
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  // Starts the run. A second call, or any call on a moved-from run, throws std::logic_error.
  void start();
  // Ends the run after the current step and saves it, as Ctrl-C does for `veche train`. Does not
  // wait.
  void stop();
  // True once the run has ended: `wait` returns at once.
  bool done() const;
  // Waits for the end of the run; starts it if necessary. May be called once. Throws RequestError
  // if the request is wrong (nothing was written), RunError if the run failed (everything saved so
  // far stays), or the exception of a callback, learner, data set or strategy. In a job of several
  // ranks such an exception becomes a RunError with the same text.
  RunResult wait();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace veche
