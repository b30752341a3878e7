// Configurations, runs and comparisons, for veche/training.py and veche/comparing.py.
#include "veche/run.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "extension/module.h"
#include "extension/values.h"
#include "veche/comparison.h"
#include "veche/resumed_config.h"
#include "veche/summary.h"

namespace veche::python {
namespace {

// A Python function that threads without the GIL may copy and free.
using Callback = std::shared_ptr<py::object>;

Callback shared(py::object function) {
  if (function.is_none()) return nullptr;
  return {new py::object(std::move(function)), [](py::object* object) {
            const py::gil_scoped_acquire hold;
            delete object;
          }};
}

py::dict dict_of(const RunInfo& info) {
  using namespace py::literals;
  return py::dict("folder"_a = info.folder.string(), "strategy"_a = info.strategy,
                  "topology"_a = info.topology, "codec"_a = info.codec, "model"_a = info.model,
                  "data"_a = info.data, "task"_a = to_string(info.task), "rank"_a = info.rank,
                  "nodes"_a = info.nodes, "stages"_a = info.stages, "parameters"_a = info.parameters,
                  "steps"_a = info.steps, "first_step"_a = info.first_step,
                  "epochs"_a = info.epoch(info.steps));
}

// The measures of a task, the main one first.
py::list measures_for(const std::string& task) {
  using namespace py::literals;
  py::list list;
  for (const Measure& measure : measures_of(parse_task(task).value_or(Task::classification)))
    list.append(py::dict("name"_a = measure.name, "title"_a = measure.title, "unit"_a = measure.unit,
                         "up"_a = measure.up, "digits"_a = measure.digits));
  return list;
}

// A vector as a NumPy array that owns it.
py::array_t<float> to_array(std::vector<float> values) {
  auto kept = std::make_unique<std::vector<float>>(std::move(values));
  const auto size = static_cast<py::ssize_t>(kept->size());
  float* const data = kept->data();
  const py::capsule owner(kept.release(),
                          [](void* vector) { delete static_cast<std::vector<float>*>(vector); });
  return py::array_t<float>(size, data, owner);
}

// A run on threads of its own; with `on_invitation` as a member of the grid. Python's thread, which gets
// Ctrl-C, waits for it in short turns.
class BackgroundRun {
 public:
  BackgroundRun(const Config& config, const std::string& resume, bool restart, bool keep, py::object on_start,
                py::object on_progress, py::object on_evaluation, py::object on_notice,
                py::object on_invitation, const std::string& invitation) {
    RunOptions options;
    options.resume = resume;
    options.restart = restart;
    options.keep = keep;
    if (const Callback call = shared(std::move(on_invitation))) {
      options.grid.emplace();
      if (!invitation.empty()) options.grid->invitation = invitation;
      options.grid->on_invitation = [call](const std::string& text) {
        const py::gil_scoped_acquire hold;
        (*call)(text);
      };
    }
    options.on_start = [this, call = shared(std::move(on_start))](const RunInfo& info) {
      info_ = info;
      const py::gil_scoped_acquire hold;
      if (call) (*call)(dict_of(info));
    };
    if (const Callback call = shared(std::move(on_progress)))
      options.on_progress = [this, call](const Progress& progress) {
        const py::gil_scoped_acquire hold;
        (*call)(progress.step, info_.steps, info_.epoch(progress.step),
                progress.train.count > 0 ? py::object(py::float_(progress.train.loss())) : py::none(),
                progress.targets_per_second, progress.cv);
      };
    if (const Callback call = shared(std::move(on_evaluation)))
      options.on_evaluation = [this, call](const Evaluation& evaluation) {
        const std::string line = metrics_json(evaluation, info_.epoch(evaluation.step));
        const py::gil_scoped_acquire hold;
        (*call)(line);
      };
    if (const Callback call = shared(std::move(on_notice)))
      options.on_notice = [call](const std::string& sentence) {
        const py::gil_scoped_acquire hold;
        (*call)(sentence);
      };
    const py::gil_scoped_release release;  // parts of the run may be Python's
    run_ = std::make_unique<Run>(config, std::move(options));
    run_->start();
    result_ = std::async(std::launch::async, [this] { return run_->wait(); });
  }

  ~BackgroundRun() {
    const py::gil_scoped_release release;  // callbacks of the last step need it
    if (run_) run_->stop();
    if (result_.valid()) result_.wait();
    run_.reset();
  }

  void stop() { run_->stop(); }

  // Whether the run has ended.
  bool wait(double seconds) {
    const py::gil_scoped_release release;
    return result_.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
  }

  // Of a run that has ended; once.
  py::dict result() {
    using namespace py::literals;
    RunResult result;
    {
      const py::gil_scoped_release release;
      result = result_.get();
    }
    py::list parameters;
    const std::string summary = summary_json(result);
    for (std::vector<float>& node : result.parameters) parameters.append(to_array(std::move(node)));
    return py::dict("summary"_a = summary, "parameters"_a = parameters, "info"_a = dict_of(result.info));
  }

 private:
  RunInfo info_;  // written before the other callbacks read it
  std::unique_ptr<Run> run_;
  std::future<RunResult> result_;
};

void set(Config& config, const std::string& section, const std::string& key, py::handle value) {
  config.set(section, key, to_value(value, section + "." + key));
}

py::object get(const Config& config, const std::string& section, const std::string& key) {
  if (!config.has(section, key)) return py::none();
  return from_value(config.given().find(section)->second.find(key)->second);
}

}  // namespace

void add_runs(py::module_& module) {
  using namespace py::literals;
  module.def("measures", measures_for, "task"_a);
  py::class_<Config>(module, "Config", "A configuration as given; nothing is checked before a run.")
      .def(py::init<>())
      .def_static(
          "from_file", [](const std::string& file) { return Config::from_file(file); }, "file"_a)
      .def_static(
          "from_text", [](const std::string& toml) { return Config::from_text(toml); }, "toml"_a)
      .def_static(
          "resumed",
          [](const std::string& folder, const Config& changes) { return resumed_config(folder, changes); },
          "folder"_a, "changes"_a, "The configuration of the run in a folder, with changes on top.")
      .def("set", set, "section"_a, "key"_a, "value"_a)
      .def("assign", py::overload_cast<std::string_view>(&Config::set), "assignment"_a,
           "\"section.key=value\", as on the command line.")
      .def("get", get, "section"_a, "key"_a, "The value as given, or None.")
      .def(
          "to_toml", [](const Config& config) { return config.resolve().to_toml(); },
          "The configuration file that repeats the run.");
  py::class_<BackgroundRun>(module, "BackgroundRun", "A run on threads of its own; it has started.")
      .def(py::init<const Config&, const std::string&, bool, bool, py::object, py::object, py::object,
                    py::object, py::object, const std::string&>(),
           "config"_a, py::kw_only(), "resume"_a = "", "restart"_a = false, "keep"_a = true,
           "on_start"_a = py::none(), "on_progress"_a = py::none(), "on_evaluation"_a = py::none(),
           "on_notice"_a = py::none(), "on_invitation"_a = py::none(), "invitation"_a = "")
      .def("wait", &BackgroundRun::wait, "seconds"_a, "Whether the run has ended.")
      .def("stop", &BackgroundRun::stop, "Ends the run after the current step, saved. Does not wait.")
      .def("result", &BackgroundRun::result, "Of a run that has ended; once.");
  module.def(
      "compare_runs",
      [](const Config& config, const std::vector<std::string>& words, int repeat, const py::function& run) {
        return compare_runs(config, words, repeat, [&run](const PlannedRun& one) {
          return py::cast<std::string>(run(one.variant, one.seed, one.config, one.needs_process));
        });
      },
      "config"_a, "words"_a, "repeat"_a, "run"_a,
      "Calls run(variant, seed, config, needs_process), which returns a summary, for each run of a "
      "comparison. Returns the text of compare.json.");
}

}  // namespace veche::python
