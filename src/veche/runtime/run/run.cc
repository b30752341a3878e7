#include "veche/run.h"

#include <atomic>
#include <future>
#include <stdexcept>

#include "veche/base/thread/mutex.h"
#include "veche/errors.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/grid_member_run.h"
#include "veche/runtime/run/process_job.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

class Callbacks : public RunObserver {
 public:
  explicit Callbacks(const RunOptions& options) : options_(options) {}

  void on_start(const RunInfo& info) override { call(options_.on_start, info); }
  void on_progress(const Progress& progress) override { call(options_.on_progress, progress); }
  void on_evaluation(const Evaluation& evaluation) override { call(options_.on_evaluation, evaluation); }
  void on_notice(const std::string& sentence) override { call(options_.on_notice, sentence); }

 private:
  template <class Function, class Argument>
  void call(const Function& function, const Argument& argument) {
    if (!function) return;
    const MutexLock lock(one_at_a_time_);
    function(argument);
  }
  const RunOptions& options_;
  // Guards no field, but the user's functions: the grid has notices from its own threads.
  Mutex one_at_a_time_;
};

GridMemberRequest member_request(const Config& config, const RunOptions& options) {
  if (options.restart)
    throw RequestError("a run on the grid cannot be restarted by one member: found a new run instead");
  return {.config = config, .membership = *options.grid, .resume = options.resume, .keep = options.keep};
}

}  // namespace

struct Run::State {
  RunOptions options;
  Callbacks callbacks{options};
  TrainingRequest request;
  std::optional<GridMemberRun> member;  // of a run on the grid, instead of the request
  // Any thread.
  std::atomic<bool> stopped = false;
  std::atomic<bool> ended = false;
  // The one thread that calls the methods.
  bool started = false;
  std::future<RunResult> result;  // last: the run under way uses the above
};

Run::Run(const Config& config, RunOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  if (state_->options.grid) {
    GridMemberRequest request = member_request(config, state_->options);
    request.observer = &state_->callbacks;
    request.interrupted = &state_->stopped;
    state_->member.emplace(std::move(request));
    return;
  }
  TrainingRequest& request = state_->request;
  request.job = process_job();
  run_collectively(request.job, [&] { request.settings = settings_for(config, request.job); });
  request.resume = state_->options.resume;
  request.restart = state_->options.restart;
  request.keep = state_->options.keep;
  request.observer = &state_->callbacks;
  request.interrupted = &state_->stopped;
}

Run::~Run() {
  if (!state_) return;
  stop();
  if (state_->result.valid()) state_->result.wait();
}

Run::Run(Run&&) noexcept = default;

Run& Run::operator=(Run&& other) noexcept {
  std::unique_ptr<State> taken = std::move(other.state_);  // first: `other` may be this one
  Run old(std::move(*this));
  state_ = std::move(taken);
  return *this;
}

Run::State& Run::state() const {
  if (!state_) throw std::logic_error("this run has been moved to another");
  return *state_;
}

void Run::start() {
  State& run = state();
  if (run.started) throw std::logic_error("a run is started once");
  run.result = std::async(std::launch::async, [&run] {
    const struct Ending {
      std::atomic<bool>& ended;
      ~Ending() { ended = true; }
    } ending{run.ended};
    return run.member ? run.member->run() : run_training(run.request);
  });
  run.started = true;
}

void Run::stop() { state().stopped = true; }

bool Run::done() const { return state().ended; }

RunResult Run::wait() {
  State& run = state();
  if (!run.started) start();
  if (!run.result.valid()) throw std::logic_error("a run is waited for once");
  return run.result.get();
}

}  // namespace veche
