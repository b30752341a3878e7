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

// How a run is made and who hears of it. The callbacks come one at a time, from threads of the run; what one
// throws ends the run and comes out of `wait`. In a job of several ranks those of rank 0 are called, and
// `on_start` on all.
struct RunOptions {
  std::filesystem::path resume = {};  // a run's folder to go on with; empty: a new run
  bool restart = false;               // with `resume`: begin again; what the folder has is put aside
  bool keep = true;                   // false: leave no folder behind
  std::function<void(const RunInfo&)> on_start = {};
  std::function<void(const Progress&)> on_progress = {};      // about twice a second
  std::function<void(const Evaluation&)> on_evaluation = {};  // run.eval_every
  // A sentence for a person, such as a damaged checkpoint that was passed over.
  std::function<void(const std::string&)> on_notice = {};
};

struct RunResult {
  RunInfo info;
  Evaluation last;  // its `stopped` tells why the run ended
  // By node; those that live on other ranks only where they are few (a million in all), else empty. Of a
  // model in stages each has its own part, and those of other ranks are empty.
  std::vector<std::vector<float>> parameters;
  // Met in this process and passed over (data.bad = "skip"), and sentences about the first of them.
  std::uint64_t damaged_samples = 0;
  std::vector<std::string> damage;
  // Where time is virtual (cluster.transport = "simulated"): what the run really took. `last.seconds` are
  // virtual then.
  std::optional<double> wall_seconds;
};

// A training run that goes on beside the program that made it. The methods are called by one thread, `stop`
// and `done` by any, also from callbacks.
//
//   veche::Run run(veche::Config::from_file("train.toml"));
//   run.start();
//   const veche::RunResult result = run.wait();
//
// In a program that mpirun or srun has started several times the ranks train one model, as those of `veche
// train` do: each makes the same runs in the same order, the first of them in the main thread.
class VECHE_API Run {
 public:
  // Checks the configuration: RequestError. When resuming, give the configuration in the run's folder,
  // config.toml.
  explicit Run(const Config& config, RunOptions options = {});
  // Stops and waits.
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  // Once; more is a mistake in the program (std::logic_error), as is whatever is asked of a run that was
  // moved from.
  void start();
  // Ends it after the step under way, saved, as Ctrl-C ends `veche train`. Does not wait.
  void stop();
  // Whether it has ended: `wait` would return at once.
  bool done() const;
  // Until it has ended; starts it if nobody has. Throws what is wrong with the request (RequestError, before
  // anything was written), why the run failed (RunError, what was saved before stays) or what a callback or a
  // learner, data set or strategy of yours has thrown; in a job of several ranks that is a RunError with its
  // words. Once.
  RunResult wait();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace veche
