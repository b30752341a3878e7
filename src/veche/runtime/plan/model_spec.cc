#include "veche/runtime/plan/model_spec.h"

#include <fmt/format.h>

#include "veche/errors.h"
#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche {

ModelSpec make_model_spec(const Settings& settings, const DataSource& source, NodeId node) {
  ModelSpec spec;
  spec.name = settings.model.name;
  spec.settings = settings.model;
  spec.options = settings.model.keys;
  spec.seed = settings.model.start == ModelStart::equal
                  ? settings.seed()
                  : RandomStream(settings.seed(), "start", static_cast<std::uint64_t>(node.value)).next();
  spec.node = node;
  spec.nodes = settings.nodes();
  if (settings.brings_data) return spec;
  const int classes = source.train->classes();
  spec.input = source.train->shape();
  spec.task = source.train->task();
  check_task(spec.name, spec.task, source.name);
  if (spec.task == Task::regression) {
    if (settings.model.classes)
      throw RequestError(
          fmt::format("model.classes = {} counts classes, and the targets of {} are numbers: "
                      "leave the key out",
                      *settings.model.classes, source.name));
    spec.classes = 1;
    spec.target_mean = source.train->values()->mean();
    spec.target_deviation = source.train->values()->deviation();
    return spec;
  }
  spec.classes = settings.model.classes.value_or(classes);
  if (spec.classes < classes)
    throw RequestError(fmt::format("model.classes = {} is too few: {} has {} {}", spec.classes, source.name,
                                   classes, spec.task == Task::language ? "symbols" : "classes"));
  return spec;
}

}  // namespace veche
