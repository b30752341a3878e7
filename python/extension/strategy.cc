// Strategies written in Python.
#include "veche/strategy.h"

#include <pybind11/stl.h>

#include <array>
#include <bit>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extension/arrays.h"
#include "extension/strategy_compressor.h"
#include "extension/strategy_exceptions.h"
#include "extension/strategy_keys.h"
#include "extension/strategy_node.h"
#include "veche/register.h"

namespace veche::python {
namespace {

// The moments of the loop that a class may define.
enum Hook : std::uint8_t {
  kStart,
  kStartAlone,
  kBeforeBackward,
  kAfterBackward,
  kAfterStep,
  kLeave,
  kFinish,
  kHooks
};
constexpr std::array<const char*, kHooks> kHookNames{
    "start", "start_alone", "before_backward", "after_backward", "after_step", "leave", "finish"};

// A number of the user's that checkpoints save: an int or a float, as the 64 bits of either.
struct SavedNumber {
  std::string name;
  bool real = false;
  std::uint64_t bits = 0;
  std::uint64_t known = 0;  // to the object
};

class PythonStrategy : public Strategy, public BeforeBackward, public MeasuredStrategy {
 public:
  // `make` makes the object from the node and the values of the keys.
  PythonStrategy(StrategyContext context, py::handle make, const std::vector<KeySpec>& keys, bool coded)
      : context_(std::move(context)) {
    if (coded) compressor_.emplace(context_);
    in_python([&] {
      node_ = std::make_shared<StrategyNode>(context_);
      if (compressor_) node_->compressor = &*compressor_;
      try {
        object_ = Kept(make(node_, values_of(context_.options, keys)));
        const py::object hooks = py::module_::import("veche.own").attr("_hooks")(object_.get());
        for (std::size_t i = 0; i < kHooks; ++i)
          if (const py::object hook = hooks.attr("get")(kHookNames[i]); !hook.is_none())
            hooks_[i] = Kept(hook);
      } catch (...) {
        end();
        throw;
      }
    });
  }
  ~PythonStrategy() override {
    const py::gil_scoped_acquire gil;
    end();
  }

  void start() override { call(kStart); }
  void before_backward(std::uint64_t step) override { call_at(kBeforeBackward, step); }
  Gradient after_backward(std::uint64_t step) override {
    if (!hooks_[kAfterBackward]) return Gradient::own;
    return in_python([&] {
      begin(step);
      return gradient_from(hooks_[kAfterBackward].get()(step));
    });
  }
  void after_step(std::uint64_t step) override { call_at(kAfterStep, step); }
  void finish() override { call(kFinish); }

  SavedState state() override {
    SavedState saved = in_python([&] { return saved_state(); });
    if (compressor_) compressor_->add_state(saved);
    return saved;
  }
  Coding coding() const override { return compressor_ ? compressor_->coding() : Coding{}; }

 protected:
  void call(Hook hook) {
    if (!hooks_[hook]) return;
    in_python([&] {
      settle_numbers();
      hooks_[hook].get()();
    });
  }
  // With the object's lock, which a helper of the user's holds while it changes the model.
  void look_with_lock(const std::function<void()>& look) {
    const Kept lock = in_python([&] { return Kept(object_.get().attr("lock")); });
    in_python([&] { lock.get().attr("acquire")(); });
    try {
      look();
    } catch (...) {
      in_python([&] { lock.get().attr("release")(); });
      throw;
    }
    in_python([&] { lock.get().attr("release")(); });
  }

 private:
  void call_at(Hook hook, std::uint64_t step) {
    if (!hooks_[hook]) return;
    in_python([&] {
      begin(step);
      hooks_[hook].get()(step);
    });
  }
  void begin(std::uint64_t step) {
    node_->step = step;
    settle_numbers();
  }
  void end() {
    saved_arrays_.clear();
    hooks_ = {};
    object_ = {};
    if (node_) node_->end();
    node_.reset();
  }

  static Gradient gradient_from(const py::object& said) {
    if (said.is_none()) return Gradient::own;
    static const std::map<std::string, Gradient> words{
        {"own", Gradient::own}, {"shared", Gradient::shared}, {"used", Gradient::used}};
    if (py::isinstance<py::str>(said))
      if (const auto word = words.find(said.cast<std::string>()); word != words.end()) return word->second;
    PyErr_Format(PyExc_ValueError, "after_backward must return None, \"own\", \"shared\" or \"used\", not %R",
                 said.ptr());
    throw py::error_already_set();
  }

  // Checkpoints write the numbers that they restore into `bits`.
  void settle_numbers() {
    for (SavedNumber& number : numbers_) {
      if (number.bits == number.known) continue;
      number.known = number.bits;
      if (number.real)
        py::setattr(object_.get(), number.name.c_str(), py::float_(std::bit_cast<double>(number.bits)));
      else
        py::setattr(object_.get(), number.name.c_str(), py::int_(static_cast<std::int64_t>(number.bits)));
    }
  }

  SavedState saved_state() {
    settle_numbers();
    SavedState saved;
    numbers_.clear();
    std::vector<Buffer> arrays;
    const py::object names = object_.get().attr("state");
    if (py::isinstance<py::str>(names)) throw py::type_error("state must be a list of names");
    for (const std::string& name : names.cast<std::vector<std::string>>()) {
      if (!py::hasattr(object_.get(), name.c_str()))
        throw py::attribute_error("state names " + name + ", which __init__ has not made");
      const py::object value = object_.get().attr(name.c_str());
      if (PyLong_CheckExact(value.ptr()) != 0 || PyFloat_CheckExact(value.ptr()) != 0) {
        const bool real = PyFloat_CheckExact(value.ptr()) != 0;
        const std::uint64_t bits = real ? std::bit_cast<std::uint64_t>(value.cast<double>())
                                        : static_cast<std::uint64_t>(value.cast<std::int64_t>());
        numbers_.push_back({name, real, bits, bits});
      } else {
        arrays.push_back(Buffer::floats(value, "state: " + name));
        saved.vectors.push_back(arrays.back().floats());
      }
    }
    for (SavedNumber& number : numbers_) saved.numbers.push_back(&number.bits);
    saved_arrays_ = std::move(arrays);
    return saved;
  }

  StrategyContext context_;
  std::optional<StrategyCompressor> compressor_;  // of a strategy that declares a codec
  std::shared_ptr<StrategyNode> node_;
  Kept object_;
  std::array<Kept, kHooks> hooks_;    // empty where the class does not define it
  std::vector<Buffer> saved_arrays_;  // the memory that the last state() told of
  std::deque<SavedNumber> numbers_;
};

class PythonAsyncStrategy : public PythonStrategy, public AsyncStrategy {
 public:
  using PythonStrategy::PythonStrategy;
  void leave() override { call(kLeave); }
  void inspect(const std::function<void()>& look) override { look_with_lock(look); }
};

// For the grid, where nobody waits for the others to start.
class PythonLoneStrategy : public PythonAsyncStrategy, public StartsAlone {
 public:
  using PythonAsyncStrategy::PythonAsyncStrategy;
  void start_alone() override { call(kStartAlone); }
};

std::function<std::optional<Refusal>(const Options&)> refusal_from(py::handle refusal) {
  if (refusal.is_none()) return [](const Options&) { return std::optional<Refusal>(); };
  const auto [reason, instead] = refusal.cast<std::pair<std::string, std::string>>();
  return [reason = reason, instead = instead](const Options&) {
    return std::optional(Refusal{reason, instead});
  };
}

template <class Choice>
Choice choice(py::handle word, const std::map<std::string, Choice>& choices) {
  return choices.at(word.cast<std::string>());
}

// `declared` is made and checked by veche/own.py. What it holds stays for the life of the process,
// like the registry, which may outlive the interpreter.
void register_python_strategy(const py::dict& declared) {
  StrategyInfo info;
  info.name = declared["name"].cast<std::string>();
  info.rule = declared["rule"].cast<std::string>();
  info.keys = keys_from(declared["keys"]);
  info.shorthand = declared["shorthand"].cast<std::string>();
  info.graph =
      choice<StrategyInfo::Graph>(declared["graph"], {{"none", StrategyInfo::Graph::none},
                                                      {"undirected", StrategyInfo::Graph::undirected},
                                                      {"directed", StrategyInfo::Graph::directed}});
  const Pace pace = choice<Pace>(
      declared["pace"],
      {{"in step", Pace::in_step}, {"async", Pace::async}, {"equal steps", Pace::async_equal_steps}});
  info.pace = [pace](const Options&) { return pace; };
  const Replicas replicas = choice<Replicas>(
      declared["replicas"], {{"own", Replicas::own}, {"equal", Replicas::equal}, {"bound", Replicas::bound}});
  info.replicas = [replicas](const Options&) { return replicas; };
  if (!declared["common_state"].is_none()) {
    const auto [what, instead] = declared["common_state"].cast<std::pair<std::string, std::string>>();
    info.common_state = [what = what, instead = instead](const Options&) {
      return std::optional(CommonState{what, instead});
    };
  }
  info.refuses_grid = refusal_from(declared["grid"]);
  info.refuses_pipeline = refusal_from(declared["pipeline"]);
  info.needs_threads = true;
  const py::handle make = py::object(declared["make"]).release();
  const bool alone = declared["starts_alone"].cast<bool>();
  info.coded.exchange = choice<CodedExchange>(declared["codec"], {{"none", CodedExchange::undeclared},
                                                                  {"nothing", CodedExchange::nothing},
                                                                  {"gradients", CodedExchange::gradients},
                                                                  {"deltas", CodedExchange::deltas},
                                                                  {"copies", CodedExchange::copies}});
  const bool coded = info.coded.exchange != CodedExchange::undeclared;
  info.make = [make, keys = info.keys, pace, alone,
               coded](StrategyContext context) -> std::unique_ptr<Strategy> {
    if (pace == Pace::in_step) return std::make_unique<PythonStrategy>(std::move(context), make, keys, coded);
    if (!alone) return std::make_unique<PythonAsyncStrategy>(std::move(context), make, keys, coded);
    return std::make_unique<PythonLoneStrategy>(std::move(context), make, keys, coded);
  };
  register_strategy(std::move(info));
}

}  // namespace

void add_strategy(py::module_& module) {
  module.def("register_strategy", register_python_strategy, py::arg("declared"));
}

}  // namespace veche::python
