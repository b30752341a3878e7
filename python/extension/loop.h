#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "extension/hand_over.h"
#include "veche/run.h"

namespace veche::python {

namespace py = pybind11;

// What a loop asks of a run, besides its configuration.
struct LoopOptions {
  std::filesystem::path resume;
  bool restart = false;
  bool keep = true;
  bool grid = false;  // members come and go
  std::optional<std::string> invitation;
  std::function<void(const std::string&)> on_invitation, on_notice;
};

// A Python training loop as one node of a run. There is at most one at a time in a process. All
// methods are called by the loop's thread, with the GIL.
class Loop {
 public:
  // `optimizer(from, length)` makes the Python object that updates a part of the parameters:
  // update(x, g) in place, where None stands for all of the loop's own vector, and state() -> list
  // of float32 arrays. If update returns true, lend() comes before these are read.
  Loop(std::vector<TensorLayout> parameters, std::vector<TensorLayout> buffers, py::object optimizer);
  // Ends the run as `finish` does, and ignores why it failed.
  ~Loop();

  py::array_t<float> parameters() { return view(shared_->parameters()); }
  py::array_t<float> gradients() { return view(shared_->gradients()); }
  py::array_t<float> buffers() { return view(shared_->buffers()); }
  // Before `start`: "own", "average" or "broadcast".
  void follow_buffers(const std::string& how) { shared_->follow = buffers_of(how); }

  // Starts the run; returns when the loop may compute its first gradient. The parameters are then
  // those of node 0, or of the checkpoint.
  void start(const std::string& toml, const std::vector<std::string>& assignments, LoopOptions options);
  // Part [begin, end) of the gradient is final before `step`; `listens`: the strategy uses it.
  void report(std::size_t begin, std::size_t end) { shared_->report(begin, end); }
  bool listens() const { return shared_->listens(); }
  // A call of `step`, or the end of `update` in it, is near.
  void announce() const { shared_->announce(); }
  // Before `start`: the optimizers that step in turn.
  void take_turns(int optimizers) { shared_->optimizers = optimizers; }
  // The one of them that makes the step under way, as all nodes have agreed.
  int optimizer() const { return shared_->optimizer(); }
  // The gradient is written; returns after the step. False: the run has ended, as by an interrupt.
  bool step(double loss, std::int64_t samples, int optimizer);
  // Ends the run after the steps made; returns when everything is saved. Throws why the run failed.
  const RunResult& finish();
  // Makes the run fail on all nodes.
  void fail(const std::string& why);
  void stop() { run().stop(); }

  std::uint64_t steps() const { return shared_->steps(); }
  const std::optional<RunInfo>& info() const { return info_; }
  // Between two steps; throws RequestError before `start` and after the end.
  Channel& channel();

  // Copies the memory at an address for each parameter into the flat gradient. Address 0: nothing.
  void gather(const std::vector<std::uintptr_t>& from);

 private:
  // Does meanwhile what the node asks for. False: the run has ended.
  bool wait_for_node(bool only_end = false);
  py::array_t<float> view(std::span<float> vector);
  Run& run();
  void end_quietly();
  void throw_if_failed();

  const std::shared_ptr<HandOver> shared_;
  const py::object optimizer_;
  std::optional<RunInfo> info_;
  std::optional<Run> run_;
  std::thread waiter_;  // for the end of the run
  // By the waiter; read after it was joined.
  std::optional<RunResult> result_;
  std::exception_ptr error_;
};

}  // namespace veche::python
