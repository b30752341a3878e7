#include "veche/runtime/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/data/source.h"
#include "veche/train/optimizer.h"
#include "veche/train/schedule.h"

namespace veche {
namespace {

using Kind = KeySpec::Kind;

Value text(std::string value) { return {std::move(value)}; }
Value whole(std::int64_t value) { return {value}; }
Value real(double value) { return {value}; }
Value flag(bool value) { return {value}; }

constexpr double kMostNodes = 1e6;

// A table, a key a line or two: clang-format would give every field its own.
// clang-format off
std::vector<KeySpec> run_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = {}, .help = "the run's folder; made up when absent"},
      {.name = "out", .kind = Kind::text, .fallback = text("runs"), .help = "where runs' folders are"},
      {.name = "seed", .kind = Kind::whole, .fallback = whole(1), .help = "fixes everything random", .least = 0},
      {.name = "epochs", .kind = Kind::real, .fallback = {}, .help = "passes over the data; 0.5 is half of one",
       .least = 0, .above_least = true},
      {.name = "steps", .kind = Kind::whole, .fallback = {}, .help = "instead of epochs", .least = 1},
      {.name = "target_accuracy", .kind = Kind::real, .fallback = {},
       .help = "stop when the averaged model reaches it, such as 0.9", .least = 0, .above_least = true},
      {.name = "eval", .kind = Kind::text, .fallback = text("average"),
       .help = "whose models are tested on the way: average, all or sample:K"},
      {.name = "eval_every", .kind = Kind::whole, .fallback = whole(0), .help = "steps; 0: every epoch",
       .least = 0},
      {.name = "checkpoint_every", .kind = Kind::whole, .fallback = whole(0), .help = "steps; 0: every epoch",
       .least = 0},
  };
}

std::vector<KeySpec> model_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = text("cnn"), .help = "see `veche model ls`; any wrn-D-K too"},
      {.name = "classes", .kind = Kind::whole, .fallback = {}, .help = "as many as the data have", .least = 2,
       .most = 1e6},
      {.name = "norm", .kind = Kind::text, .fallback = {},
       .help = "normalisation: batch, group:G, layer or none; the model's own when absent"},
      {.name = "stem", .kind = Kind::text, .fallback = text("auto"),
       .help = "how a network for 224x224 pixels begins: small keeps the resolution, auto does up to 64 pixels",
       .choices = {"auto", "small", "large"}},
      {.name = "dropout", .kind = Kind::real, .fallback = {}, .help = "probability; the model's own when absent",
       .least = 0, .most = 1, .below_most = true},
      {.name = "stochastic_depth", .kind = Kind::real, .fallback = {},
       .help = "probability that the last residual branch is left out; the model's own when absent", .least = 0,
       .most = 1, .below_most = true},
      {.name = "label_smoothing", .kind = Kind::real, .fallback = {},
       .help = "this much of a label is spread over all classes in training", .least = 0, .most = 1, .below_most = true},
      {.name = "hidden", .kind = Kind::wholes, .fallback = {}, .help = "widths of mlp's hidden layers"},
      {.name = "file", .kind = Kind::text, .fallback = {}, .help = "torchscript: the module's file, see docs/own-models.md"},
      {.name = "init", .kind = Kind::text, .fallback = {}, .help = "a safetensors file with the weights to start from"},
      {.name = "prune", .kind = Kind::real, .fallback = {},
       .help = "this part of the weights, the smallest, becomes zero and stays so", .least = 0, .most = 1, .below_most = true},
      {.name = "prune_at", .kind = Kind::real, .fallback = real(1), .help = "epochs before the cut", .least = 0},
      {.name = "prune_until", .kind = Kind::real, .fallback = {}, .help = "cut gradually until this epoch", .least = 0},
      {.name = "device", .kind = Kind::text, .fallback = text("cpu"),
       .help = "where the network computes: the processor, or the CUDA devices that a process sees, node by node",
       .choices = {"cpu", "cuda"}},
      {.name = "a", .kind = Kind::list, .fallback = {}, .help = "quadratic: curvature of each node, number or list"},
      {.name = "b", .kind = Kind::list, .fallback = {}, .help = "quadratic: optimum of each node, number or list"},
      {.name = "start", .kind = Kind::text, .fallback = text("equal"),
       .help = "initial parameters of the nodes", .choices = {"equal", "different"}},
      {.name = "x0", .kind = Kind::any, .fallback = {}, .help = "quadratic: where all nodes start"},
  };
}

std::vector<KeySpec> data_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = {},
       .help = "a known data set; `fashion-mnist` when neither this nor path is given", .choices = data_names()},
      {.name = "path", .kind = Kind::texts, .fallback = {},
       .help = "where its files are, or a set of your own: a folder, an archive or a packed set (docs/data.md); "
               "with partition = folders one path a node, or a folder of such"},
      {.name = "folder", .kind = Kind::text, .fallback = text("data"), .help = "where `veche data fetch` puts known sets"},
      {.name = "size", .kind = Kind::whole, .fallback = {},
       .help = "image files: the side of the images wanted; the shorter side is resized to it and the middle taken",
       .least = 1, .most = 4096},
      {.name = "bad", .kind = Kind::text, .fallback = text("refuse"),
       .help = "a damaged sample ends the run, or another of its class takes its place", .choices = {"refuse", "skip"}},
      {.name = "batch", .kind = Kind::whole, .fallback = whole(25), .help = "samples per node and step", .least = 1},
      {.name = "partition", .kind = Kind::text, .fallback = {},
       .help = "how samples are divided: iid, proportional (to cluster.speed; the default where that is given), "
               "sizes:[..], dirichlet:ALPHA, classes:K, folders"},
      {.name = "uneven", .kind = Kind::text, .fallback = text("wait"),
       .help = "nodes with fewer batches than others go on mixing until the next epoch, or begin theirs anew",
       .choices = {"wait", "repeat"}},
      {.name = "shuffle", .kind = Kind::text, .fallback = text("local"),
       .help = "what nodes do with their samples before each epoch: local keeps them, partial:Q exchanges the part Q "
               "with others, global divides all anew"},
      {.name = "augment", .kind = Kind::text, .fallback = text("default"),
       .help = "random changes of training images: none, or of crop:P, flip, cutout:S, resized-crop joined by +; "
               "default: what is customary for the set"},
      {.name = "workers", .kind = Kind::whole, .fallback = whole(1),
       .help = "threads that prepare batches ahead of the steps; 0: each node its own when it needs them",
       .least = 0, .most = 256},
      {.name = "shape", .kind = Kind::wholes, .fallback = {}, .help = "synthetic: channels, height, width"},
      {.name = "samples", .kind = Kind::whole, .fallback = {}, .help = "synthetic: training samples", .least = 1},
      {.name = "test_samples", .kind = Kind::whole, .fallback = {}, .help = "synthetic: test samples", .least = 1},
      {.name = "classes", .kind = Kind::whole, .fallback = {}, .help = "synthetic: classes", .least = 2},
      {.name = "noise", .kind = Kind::real, .fallback = {}, .help = "synthetic: noise over the pattern", .least = 0},
  };
}

std::vector<KeySpec> optimizer_keys() {
  return {
      {.name = "name", .kind = Kind::text, .fallback = text("adam"), .help = "sgd, adam, adamw or lars",
       .choices = optimizer_names()},
      {.name = "lr", .kind = Kind::real, .fallback = {}, .help = "learning rate: sgd 0.05, adam 0.001, lars 1", .least = 0,
       .above_least = false},
      {.name = "momentum", .kind = Kind::real, .fallback = real(0), .help = "sgd, lars", .least = 0},
      {.name = "nesterov", .kind = Kind::flag, .fallback = flag(false), .help = "sgd: Nesterov's form"},
      {.name = "beta1", .kind = Kind::real, .fallback = real(0.9), .help = "adam", .least = 0, .most = 1,
       .below_most = true},
      {.name = "beta2", .kind = Kind::real, .fallback = real(0.999), .help = "adam", .least = 0, .most = 1,
       .below_most = true},
      {.name = "epsilon", .kind = Kind::real, .fallback = real(1e-8), .help = "adam", .least = 0},
      {.name = "weight_decay", .kind = Kind::real, .fallback = real(0), .help = "pull towards zero", .least = 0},
      {.name = "decay_norms", .kind = Kind::flag, .fallback = flag(true),
       .help = "false: weight decay (and lars's ratio) spare norms and biases"},
      {.name = "trust", .kind = Kind::real, .fallback = real(0.001),
       .help = "lars: how far a layer goes, in lengths of its weights", .least = 0, .above_least = true},
      {.name = "clip", .kind = Kind::real, .fallback = real(0), .help = "largest norm of a gradient; 0: any",
       .least = 0},
      {.name = "schedule", .kind = Kind::text, .fallback = text("constant"), .help = "of the learning rate",
       .choices = schedule_names()},
      {.name = "milestones", .kind = Kind::reals, .fallback = {}, .help = "multi-step: epochs at which it drops"},
      {.name = "gamma", .kind = Kind::real, .fallback = real(0.1), .help = "multi-step: factor", .least = 0},
      {.name = "warmup_epochs", .kind = Kind::real, .fallback = real(0), .help = "linear rise at the start",
       .least = 0},
      {.name = "scale_lr", .kind = Kind::flag, .fallback = flag(false),
       .help = "multiply the rate by the number of nodes"},
  };
}

std::vector<KeySpec> cluster_keys() {
  return {
      {.name = "nodes", .kind = Kind::whole, .fallback = whole(4), .help = "how many; under mpirun one a rank, or more",
       .least = 1, .most = kMostNodes},
      {.name = "transport", .kind = Kind::text, .fallback = text("auto"),
       .help = "the engine; auto: mpi when started by mpirun or srun, else threads",
       .choices = {"auto", "threads", "mpi"}},
      {.name = "slots", .kind = Kind::whole, .fallback = whole(0), .help = "nodes computing at once; 0: the cores",
       .least = 0, .most = kMostNodes},
      {.name = "speed", .kind = Kind::reals, .fallback = {}, .help = "relative power of each node, such as [1, 1, 0.5]",
       .least = 0, .above_least = true},
      {.name = "train_every", .kind = Kind::any, .fallback = {},
       .help = "qt: a node trains at every qt-th step; a number, or one a node; follows from speed"},
      {.name = "mix_every", .kind = Kind::any, .fallback = {},
       .help = "qc: a node mixes after every qc-th step (consensus); a number, or one a node"},
      {.name = "rest", .kind = Kind::flag, .fallback = {},
       .help = "nodes rest after computing, so that they are as unequal as speed says; by default where they share one "
               "machine, and not on several hosts, which are as quick as they are"},
      {.name = "stall", .kind = Kind::reals, .fallback = {},
       .help = "random pauses after computing: probability and longest seconds, such as [0.01, 0.5]"},
      {.name = "lose", .kind = Kind::real, .fallback = real(0),
       .help = "probability that what a node has computed is lost", .least = 0, .most = 1, .below_most = true},
      {.name = "work", .kind = Kind::text, .fallback = text("shared"),
       .help = "nodes at their own pace: quick ones make more of the steps, or all make as many",
       .choices = {"shared", "equal"}},
  };
}

std::vector<KeySpec> topology_keys() {
  return {
      {.name = "graph", .kind = Kind::text, .fallback = text("ring"), .help = "see docs/topologies.md"},
      {.name = "weights", .kind = Kind::text, .fallback = text("metropolis"), .help = "see docs/topologies.md"},
  };
}
// clang-format on

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::flag:
      return "true or false";
    case Kind::whole:
      return "a whole number";
    case Kind::real:
      return "a number";
    case Kind::text:
      return "a word";
    case Kind::list:
      return "a list such as [1, 2]";
    case Kind::wholes:
      return "a list of whole numbers such as [1, 2]";
    case Kind::reals:
      return "a list of numbers such as [1, 2.5]";
    case Kind::texts:
      return "a word or a list of words";
    case Kind::any:
      break;
  }
  return "a value";
}

// No number in it is infinite or not a number at all.
bool is_finite(const Value& value) {
  if (const auto* number = std::get_if<double>(&value.data)) return std::isfinite(*number);
  const auto* list = std::get_if<Value::List>(&value.data);
  return list == nullptr || std::ranges::all_of(*list, is_finite);
}

bool fits(const Value& value, Kind kind) {
  const auto list_of = [&](Kind item_kind) {
    const auto* list = std::get_if<Value::List>(&value.data);
    return list != nullptr &&
           std::ranges::all_of(*list, [&](const Value& item) { return fits(item, item_kind); });
  };
  switch (kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value.data);
    case Kind::whole:
      return std::holds_alternative<std::int64_t>(value.data);
    case Kind::real:
      return std::holds_alternative<double>(value.data) || std::holds_alternative<std::int64_t>(value.data);
    case Kind::text:
      return std::holds_alternative<std::string>(value.data);
    case Kind::list:
      return std::holds_alternative<Value::List>(value.data);
    case Kind::wholes:
      return list_of(Kind::whole);
    case Kind::reals:
      return list_of(Kind::real);
    case Kind::texts:
      return fits(value, Kind::text) || list_of(Kind::text);
    case Kind::any:
      break;
  }
  return true;
}

void check(const std::string& where, const Value& value, const KeySpec& spec) {
  if (!fits(value, spec.kind))
    throw RequestError(fmt::format("{} must be {}, not {}", where, kind_name(spec.kind), to_toml(value)));
  if (!spec.infinite && !is_finite(value))
    throw RequestError(fmt::format("{} must be {}, not {}", where,
                                   spec.kind == Kind::real ? "a finite number" : "made of finite numbers",
                                   to_toml(value)));
  if (const auto* word = std::get_if<std::string>(&value.data); word != nullptr && !spec.choices.empty())
    if (std::ranges::find(spec.choices, *word) == spec.choices.end())
      throw RequestError(
          fmt::format("{} = \"{}\" does not exist{}", where, *word, suggestion(*word, spec.choices)));
  if (spec.kind != Kind::whole && spec.kind != Kind::real) return;
  const double number = std::holds_alternative<double>(value.data)
                            ? std::get<double>(value.data)
                            : static_cast<double>(std::get<std::int64_t>(value.data));
  if (spec.least && (number < *spec.least || (spec.above_least && number == *spec.least)))
    throw RequestError(fmt::format("{} must be {} {}, not {}", where, spec.above_least ? "above" : "at least",
                                   *spec.least, to_toml(value)));
  if (spec.most && (number > *spec.most || (spec.below_most && number == *spec.most)))
    throw RequestError(fmt::format("{} must be {} {}, not {}", where, spec.below_most ? "below" : "at most",
                                   *spec.most, to_toml(value)));
}

}  // namespace

const std::vector<SectionSpec>& sections() {
  static const std::vector<SectionSpec> all = {
      {"run", run_keys()},         {"model", model_keys()},
      {"data", data_keys()},       {"optimizer", optimizer_keys()},
      {"cluster", cluster_keys()}, {"topology", topology_keys()},
  };
  return all;
}

Options checked(const std::string& section, const std::map<std::string, Value, std::less<>>& given,
                const std::vector<KeySpec>& keys) {
  Options options;
  for (const KeySpec& spec : keys)
    if (spec.fallback) options.set(spec.name, *spec.fallback);
  for (const auto& [key, value] : given) {
    const auto spec = std::ranges::find(keys, key, &KeySpec::name);
    if (spec == keys.end()) {
      std::vector<std::string> names;
      for (const KeySpec& known : keys) names.push_back(known.name);
      if (const std::string near = nearest(key, names); !near.empty()) names = {near};
      for (std::string& name : names) name = section + "." + name;
      throw RequestError(fmt::format("there is no key {}.{}; {}", section, key,
                                     names.size() == 1
                                         ? fmt::format("did you mean '{}'?", names.front())
                                         : fmt::format("choose one of {}", fmt::join(names, ", "))));
    }
    check(section + "." + key, value, *spec);
    options.set(key, value);
  }
  return options;
}

std::string to_toml(const Value& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      const std::string digits = fmt::format("{}", v);  // the shortest that reads back the same
      return digits.find_first_of(".ein") == std::string::npos ? digits + ".0" : digits;
    }
    std::string operator()(const std::string& v) const {
      std::string escaped;
      for (const char c : v) escaped += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      return '"' + escaped + '"';
    }
    std::string operator()(const Value::List& v) const {
      std::string items;
      for (const Value& item : v) items += (items.empty() ? "" : ", ") + to_toml(item);
      return '[' + items + ']';
    }
  };
  return std::visit(Writer{}, value.data);
}

}  // namespace veche
