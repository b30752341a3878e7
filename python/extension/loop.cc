#include "extension/loop.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "extension/module.h"
#include "veche/errors.h"
#include "veche/register.h"
#include "veche/vector_math.h"

namespace veche::python {
namespace {

constexpr char kName[] = "python-loop";

// What the registered learner and optimizer of a run are made of.
struct Current {
  std::shared_ptr<HandOver> shared;
  py::object optimizer;
};

Current& current() {
  // Never destroyed: Python may be gone by the end of the process.
  static Current& current = *new Current;
  return current;
}

// A view of memory that `owner` keeps alive.
py::array_t<float> array_over(std::span<float> vector, const py::handle& owner) {
  return {{static_cast<py::ssize_t>(vector.size())}, {sizeof(float)}, vector.data(), owner};
}

// An exception of Python can be handed to Python once only; the end of a run may throw it again.
template <class Call>
py::object called(Call call) {
  try {
    return call();
  } catch (const py::error_already_set& error) {
    throw RunError(error.what());
  }
}

// While it exists, Ctrl-C waits: Python calls its handlers on the loop's thread, and an exception
// of theirs would leave half of an optimizer's step.
class WithoutInterrupt {
 public:
  WithoutInterrupt() {
    came = 0;
    struct sigaction noting {};
    noting.sa_handler = [](int) { came = 1; };
    sigaction(SIGINT, &noting, &before_);
  }
  ~WithoutInterrupt() {
    sigaction(SIGINT, &before_, nullptr);
    if (came != 0) raise(SIGINT);
  }
  WithoutInterrupt(const WithoutInterrupt&) = delete;
  WithoutInterrupt& operator=(const WithoutInterrupt&) = delete;

 private:
  static inline volatile sig_atomic_t came = 0;
  struct sigaction before_ {};
};

// The user's optimizer as the run sees it. It works in place, on the loop's thread if that waits.
class LoopOptimizer : public Optimizer {
 public:
  using Optimizer::update;
  LoopOptimizer(const Current& current, std::size_t from, std::size_t length) : shared_(current.shared) {
    const py::gil_scoped_acquire gil;
    optimizer_ = called([&] { return current.optimizer(from, length); });
    py::array_t<float> gradient(static_cast<py::ssize_t>(length));
    scratch_ = {gradient.mutable_data(), length};
    gradient_ = std::move(gradient);
    for (const py::handle each : optimizer_.attr("state")()) {
      const auto array = py::cast<py::array_t<float, py::array::c_style>>(each);
      arrays_.push_back(array);
      state_.emplace_back(const_cast<float*>(array.data()), static_cast<std::size_t>(array.size()));
    }
  }
  ~LoopOptimizer() override {
    const py::gil_scoped_acquire gil;
    arrays_.clear();
    gradient_ = py::object();
    optimizer_ = py::object();
  }

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    const bool clipped = step.gradient_scale != 1;
    if (clipped) {
      std::ranges::copy(g, scratch_.begin());
      scale(scratch_, static_cast<float>(step.gradient_scale));
    }
    const bool elsewhere = into.data() != x.data();
    // In place, as the Python optimizer's tensors are views of x.
    const std::span<float> target(const_cast<float*>(x.data()), x.size());
    if (elsewhere) before_.assign(x.begin(), x.end());
    const bool own = is_all(x, shared_->parameters()), own_gradient = is_all(g, shared_->gradients());
    const auto call = [&] {
      // Nobody needs the gradient after the optimizer's step, so it may be changed.
      const std::span<float> gradient(const_cast<float*>(g.data()), g.size());
      const py::object where = own ? py::none() : py::object(array_over(target, py::none()));
      const py::object handed = clipped                 ? gradient_
                                : (own && own_gradient) ? py::none()
                                                        : py::object(array_over(gradient, py::none()));
      is_lent_ = !py::bool_(called([&] { return optimizer_.attr("update")(where, handed); }));
    };
    in_python(call);
    if (!elsewhere) return;
    std::ranges::copy(target, into.begin());
    std::ranges::copy(before_, target.begin());
  }

  // The optimizer may keep its state elsewhere, as on a GPU, between two steps.
  std::vector<std::span<float>> state() override {
    if (!std::exchange(is_lent_, true)) in_python([&] { called([&] { return optimizer_.attr("lend")(); }); });
    return state_;
  }

 private:
  // On the loop's thread, if that waits.
  template <class Call>
  void in_python(Call call) {
    if (shared_->do_in_loop(call)) return;
    const py::gil_scoped_acquire gil;
    call();
  }
  static bool is_all(std::span<const float> part, std::span<const float> whole) {
    return part.data() == whole.data() && part.size() == whole.size();
  }

  const std::shared_ptr<HandOver> shared_;
  py::object optimizer_;
  bool is_lent_ = true;  // nothing of the state is elsewhere since the last step
  std::vector<py::array> arrays_;
  std::vector<std::span<float>> state_;
  // For a clipped gradient. Python's, as a tensor's gradient may stay a view of it after the run.
  py::object gradient_;
  std::span<float> scratch_;
  std::vector<float> before_;
};

void register_loop() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_model(
        {.name = kName, .needs_data = false, .make = [](const ModelSpec&) {
           if (!current().shared->take_node())
             throw RequestError(
                 "a training loop is one node, and this process is to run several: start a process "
                 "per node, as by `python3 -m veche.launch -n 4 train.py`");
           return std::make_unique<LoopLearner>(current().shared);
         }});
    register_optimizer({.name = kName, .make = [](Learner&, std::size_t from, std::size_t length) {
                          return std::make_unique<LoopOptimizer>(current(), from, length);
                        }});
  });
}

std::size_t size_of(const TensorLayout& tensor) {
  std::size_t size = 1;
  for (const std::int64_t side : tensor.shape) size *= static_cast<std::size_t>(side);
  return size;
}

std::size_t length_of(const std::vector<TensorLayout>& layout) {
  std::size_t end = 0;
  for (const TensorLayout& each : layout) end = std::max(end, each.offset + size_of(each));
  return end;
}

}  // namespace

Loop::Loop(std::vector<TensorLayout> parameters, std::vector<TensorLayout> buffers, py::object optimizer)
    : shared_(std::make_shared<HandOver>(length_of(parameters), length_of(buffers))),
      optimizer_(std::move(optimizer)) {
  shared_->parameter_layout = std::move(parameters);
  shared_->buffer_layout = std::move(buffers);
}

Loop::~Loop() { end_quietly(); }

void Loop::end_quietly() {
  if (!waiter_.joinable()) return;
  shared_->finish();
  run_->stop();
  const py::gil_scoped_release release;
  waiter_.join();
}

py::array_t<float> Loop::view(std::span<float> vector) {
  const py::capsule owner(new std::shared_ptr<HandOver>(shared_),
                          [](void* held) { delete static_cast<std::shared_ptr<HandOver>*>(held); });
  return array_over(vector, owner);
}

Run& Loop::run() {
  if (!run_) throw RequestError("the run has not started: make a step first");
  return *run_;
}

// In turns, so that Ctrl-C reaches the loop's thread.
bool Loop::wait_for_node(bool only_end) {
  for (;;) {
    HandOver::Event event{};
    {
      const py::gil_scoped_release release;
      event = shared_->wait_for_node(only_end);
    }
    if (event == HandOver::Event::next_step) return true;
    if (event == HandOver::Event::run_ended) return false;
    std::optional<WithoutInterrupt> later;
    if (event == HandOver::Event::work) later.emplace();
    std::optional<py::error_already_set> interrupt;
    if (PyErr_CheckSignals() != 0) interrupt.emplace();
    if (event == HandOver::Event::work) shared_->do_work();
    if (interrupt) throw py::error_already_set(*interrupt);
  }
}

void Loop::start(const std::string& toml, const std::vector<std::string>& assignments, LoopOptions options) {
  if (run_) throw RequestError("this loop has started already");
  register_loop();
  Config config = Config::from_text(toml, "the configuration");
  const bool joins = options.invitation.has_value();
  for (const std::string& assignment : assignments) config.set(assignment);
  if (!joins) {
    config.set("model", "name", Value{std::string(kName)});
    config.set("optimizer", "name", Value{std::string(kName)});
  }
  current() = {shared_, optimizer_};
  RunOptions run{.resume = options.resume, .restart = options.restart, .keep = options.keep};
  run.on_start = [this](const RunInfo& info) { info_ = info; };
  if (options.on_notice)
    run.on_notice = [tell = options.on_notice](const std::string& sentence) {
      const py::gil_scoped_acquire gil;
      tell(sentence);
    };
  if (options.grid) {
    run.grid.emplace();
    run.grid->invitation = options.invitation;
    if (options.on_invitation)
      run.grid->on_invitation = [tell = options.on_invitation](const std::string& invitation) {
        const py::gil_scoped_acquire gil;
        tell(invitation);
      };
  }
  {
    const py::gil_scoped_release release;
    run_.emplace(config, std::move(run));
    run_->start();
  }
  waiter_ = std::thread([this] {
    try {
      result_ = run_->wait();
    } catch (...) {
      error_ = std::current_exception();
    }
    shared_->run_ended();
  });
  if (!wait_for_node()) throw_if_failed();
}

bool Loop::step(double loss, std::int64_t samples, int optimizer) {
  run();
  shared_->give({.loss_sum = loss * static_cast<double>(samples), .correct = 0, .count = samples}, optimizer);
  const bool goes_on = wait_for_node();
  if (!goes_on) throw_if_failed();
  return goes_on;
}

void Loop::throw_if_failed() {
  if (waiter_.joinable()) {
    const py::gil_scoped_release release;
    waiter_.join();
  }
  if (error_) std::rethrow_exception(error_);
}

const RunResult& Loop::finish() {
  run();
  shared_->finish();
  wait_for_node(true);
  throw_if_failed();
  return *result_;
}

void Loop::fail(const std::string& why) {
  run();
  shared_->fail(why);
}

Channel& Loop::channel() {
  Channel* const channel = shared_->channel();
  if (channel == nullptr) throw RequestError("there is no run under way whose nodes could exchange vectors");
  if (shared_->step_has_begun())
    throw RequestError(
        "overlap=True has begun to send gradients: make exchanges of your own before the backward pass or "
        "after "
        "optimizer.step()");
  return *channel;
}

void Loop::gather(const std::vector<std::uintptr_t>& from) {
  const py::gil_scoped_release release;
  const std::span<float> into = shared_->gradients();
  const std::vector<TensorLayout>& layout = shared_->parameter_layout;
  if (from.size() != layout.size()) throw std::invalid_argument("there is an address for each parameter");
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 0)
      std::memcpy(into.data() + layout[i].offset, reinterpret_cast<const float*>(from[i]),
                  size_of(layout[i]) * sizeof(float));
}

void add_loop(py::module_& module) {
  py::class_<TensorLayout>(module, "TensorLayout")
      .def(py::init([](std::string name, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                       std::size_t offset) {
        return TensorLayout{std::move(name), std::move(shape), std::move(strides), offset};
      }));
  py::class_<RunInfo>(module, "RunInfo")
      .def_readonly("rank", &RunInfo::rank)
      .def_readonly("nodes", &RunInfo::nodes)
      .def_readonly("folder", &RunInfo::folder)
      .def_readonly("strategy", &RunInfo::strategy)
      .def_readonly("first_step", &RunInfo::first_step);
  py::class_<Loop>(module, "Loop")
      .def(py::init<std::vector<TensorLayout>, std::vector<TensorLayout>, py::object>())
      .def_property_readonly("parameters", &Loop::parameters)
      .def_property_readonly("gradients", &Loop::gradients)
      .def_property_readonly("buffers", &Loop::buffers)
      .def_property_readonly("steps", &Loop::steps)
      .def_property_readonly("info", &Loop::info)
      .def(
          "start",
          [](Loop& loop, const std::string& toml, const std::vector<std::string>& assignments,
             const std::filesystem::path& resume, bool restart, bool keep, bool grid,
             std::optional<std::string> invitation, std::function<void(const std::string&)> on_invitation,
             std::function<void(const std::string&)> on_notice) {
            loop.start(toml, assignments,
                       {resume, restart, keep, grid, std::move(invitation), std::move(on_invitation),
                        std::move(on_notice)});
          },
          py::arg("toml"), py::arg("assignments"), py::arg("resume") = "", py::arg("restart") = false,
          py::arg("keep") = true, py::arg("grid") = false, py::arg("invitation") = py::none(),
          py::arg("on_invitation") = py::none(), py::arg("on_notice") = py::none())
      .def_property_readonly("listens", [](const Loop& loop) { return loop.listens(); })
      .def("report", &Loop::report, py::arg("begin"), py::arg("end"))
      .def("announce", [](const Loop& loop) { loop.announce(); })
      .def("take_turns", &Loop::take_turns)
      .def_property_readonly("optimizer", &Loop::optimizer)
      .def("step", &Loop::step, py::arg("loss"), py::arg("samples"), py::arg("optimizer") = 0)
      .def("finish",
           [](Loop& loop) {
             const RunResult& result = loop.finish();
             const py::object folder =
                 result.info.folder.empty() ? py::object(py::none()) : py::cast(result.info.folder);
             return py::dict(py::arg("folder") = folder, py::arg("steps") = result.last.step,
                             py::arg("stopped") = to_string(result.last.stopped));
           })
      .def("fail", &Loop::fail)
      .def("stop", &Loop::stop)
      .def("gather", &Loop::gather)
      .def("follow_buffers", &Loop::follow_buffers);
}

}  // namespace veche::python
