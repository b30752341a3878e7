#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veche/options.h"
#include "veche/task.h"

namespace veche {

// The sections of a configuration, one struct each. A member's type and initial value are the type
// and the default of the key of the same name; an optional member and an empty list mean that the
// key is absent. docs/configuration.md describes every key.

// Keys that decide between a few forms of a run; docs/configuration.md lists their words.
enum class Transport { automatic, threads, mpi, simulated };       // cluster.transport
enum class AsyncWork { shared, equal };                            // cluster.work
enum class ModelStart { equal, different };                        // model.start
enum class ModelStem { automatic, small, large };                  // model.stem
enum class OnDamage { refuse, skip };                              // data.bad
enum class UnevenData { wait, repeat };                            // data.uneven
enum class RateShape { constant, multi_step, cosine, one_cycle };  // optimizer.schedule
enum class Lossless { none, zstd };                                // compress.lossless
enum class NetworkShape { star, full };                            // network.shape
enum class TcpModel { lv08, cm02 };                                // network.model
enum class Learning { real, none };                                // network.learning
enum class Admission { invited, approved };                        // grid.admit
enum class CutOff { wait, fork };                                  // grid.partition
enum class MemberData { own, common };                             // grid.data
enum class MemberWeight { samples, equal };                        // grid.weight
enum class Recompute { none, all, except_last };                   // pipeline.recompute
// The order of the forward and backward passes of micro-batches (pipeline.schedule). In all of them
// the backward passes follow the order of the micro-batches, so that sums of gradients are the same
// to the bit.
enum class PipelineSchedule {
  one_f_one_b,  // backward as soon as possible: a stage holds at most as many micro-batches as stages
                // follow it
  gpipe,        // all forward, then all backward
  naive,        // one micro-batch at a time, forward then backward
};
// model.device. The last has no word: it computes on the processor as if on a device, for tests.
enum class ComputeDevice { cpu, cuda, copies };

// The key run.eval: the models that are tested during the run.
struct TestedModels {
  enum class Which { average, all, sample };
  Which which = Which::average;
  int count = 0;  // of the sample

  bool operator==(const TestedModels&) const = default;
};

struct RunSettings {
  std::optional<std::string> name = {};
  std::string out = "runs";
  std::int64_t seed = 1;
  std::optional<double> epochs = {};
  std::optional<std::int64_t> steps = {};
  std::optional<Value> target = {};  // a number, or a text such as "perplexity < 8"
  std::optional<double> target_accuracy = {};
  TestedModels eval = {};
  std::int64_t eval_every = 0;
  std::int64_t checkpoint_every = 0;
  bool trace = false;
};

struct ModelSettings {
  std::string name = "cnn";
  std::optional<int> classes = {};
  std::optional<std::string> norm = {};
  ModelStem stem = ModelStem::automatic;
  std::optional<double> dropout = {};
  std::optional<double> stochastic_depth = {};
  std::optional<double> label_smoothing = {};
  std::optional<std::vector<std::int64_t>> hidden = {};
  std::optional<int> layers = {}, heads = {}, width = {}, context = {};  // of a gpt
  std::optional<bool> bias = {}, tied = {};
  std::optional<std::string> file = {};
  std::optional<std::string> init = {};
  std::optional<double> prune = {};
  double prune_at = 1;
  std::optional<double> prune_until = {};
  ComputeDevice device = ComputeDevice::cpu;
  int threads = 0;
  std::optional<Value> a = {}, b = {};  // one entry per node, each a number or a list of numbers
  std::optional<std::int64_t> length = {};
  ModelStart start = ModelStart::equal;
  std::optional<Value> x0 = {};  // a number or a list of numbers
  Options keys = {};             // the section by key, for a model that a program has registered
};

// The key data.path: one path, or a list of one path per node. At most one of the two is given.
struct DataPath {
  std::string one;
  std::vector<std::string> per_node = {};

  bool empty() const { return one.empty() && per_node.empty(); }
  bool operator==(const DataPath&) const = default;
};

// The key data.partition; docs/partition.md describes the rules.
enum class PartitionRule { iid, proportional, sizes, contiguous, dirichlet, classes, folders };
struct DataDivision {
  DataDivision(PartitionRule by = PartitionRule::iid, std::string text = {})  // NOLINT: a rule is one
      : rule(by), argument(std::move(text)) {}

  PartitionRule rule;
  std::string argument;  // the text after the colon

  bool operator==(const DataDivision&) const = default;
};

struct DataSettings {
  std::optional<std::string> name = {};
  DataPath path = {};
  std::string folder = "data";
  std::optional<int> size = {};
  std::optional<std::string> tokenizer = {};
  std::optional<Value> test = {};  // a number or a text
  OnDamage bad = OnDamage::refuse;
  std::int64_t batch = 25;
  std::int64_t accumulate = 1;
  std::optional<std::int64_t> global_batch = {};
  DataDivision partition = {};  // proportional unless given, where cluster.speed is given
  UnevenData uneven = UnevenData::wait;
  std::string shuffle = "local";
  std::string augment = "default";
  int workers = 1;
  std::vector<std::int64_t> shape = {};
  std::optional<std::int64_t> samples = {};
  std::optional<std::int64_t> test_samples = {};
  std::optional<std::int64_t> classes = {};
  std::optional<double> noise = {};
  // Tables.
  std::optional<std::string> target = {};
  std::vector<std::string> ignore = {}, categories = {}, numbers = {}, dates = {};  // names of columns
  std::optional<Task> task = {};
  std::optional<Value> class_weights = {};  // "balanced", or a list of one number per class
  Options keys = {};  // the section by key, for a data set that a program has registered
  // No key: the vocabulary that the run has already, from its folder or from other members; empty:
  // it is made from the text.
  std::string vocabulary = {};

  bool is_in_folders() const { return partition.rule == PartitionRule::folders; }  // one per node
};

struct OptimizerSettings {
  std::string name = "adam";
  double lr = 0.001;  // the optimizer's own default unless given
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decay_norms = true;
  double trust = 0.001;
  double clip = 0;
  RateShape schedule = RateShape::constant;
  std::vector<double> milestones = {};
  double gamma = 0.1;
  double warmup_epochs = 0;
  std::int64_t warmup_steps = 0;
  double lr_end = 0;
  bool scale_lr = false;
};

struct ClusterSettings {
  int nodes = 4;
  Transport transport = Transport::automatic;
  int slots = 0;
  std::vector<double> speed = {};
  std::optional<Value> train_every = {}, mix_every = {};  // a whole number, or a list of one per node
  std::optional<bool> rest = {};
  std::vector<double> stall = {};
  double lose = 0;
  AsyncWork work = AsyncWork::shared;
};

struct TopologySettings {
  std::string graph = "ring";
  std::string weights = "metropolis";
};

// The options are `name` and the keys that the strategy declares.
struct StrategySettings : Options {
  std::string name = "consensus";
};

struct CompressSettings {
  std::string codec = "none";
  std::optional<bool> error_feedback = {};
  Value gamma{std::string("auto")};  // a number or "auto"
  std::int64_t small = 0;
  double start = 0;
  Lossless lossless = Lossless::none;
  bool vote = false;

  bool has_codec() const { return codec != "none"; }
};

// The key pipeline.cut: what the stages have equal parts of, or the first block of each stage but
// the first.
struct PipelineCut {
  enum class By { time, parameters, layers, places };
  By by = By::time;
  std::vector<std::int64_t> places = {};

  bool operator==(const PipelineCut&) const = default;
};

struct PipelineSettings {
  int stages = 1;
  std::int64_t micro_batches = 1;  // four per stage unless given, if the batch has as many samples
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  PipelineCut cut = {};
  Recompute recompute = Recompute::none;
};

struct NetworkSettings {
  std::optional<std::string> platform = {};
  Value bandwidth{std::string("1Gbps")};  // a text with a unit, or a list of one per node
  Value latency{std::string("50us")};     // likewise
  std::optional<Value> sites = {};        // a table or a list of tables
  NetworkShape shape = NetworkShape::star;
  TcpModel model = TcpModel::lv08;
  bool crosstraffic = true;
  bool duplex = true;
  Value jitter{std::string("0s")};          // a text with a unit
  std::optional<Value> loss_of_nodes = {};  // a table or a list of tables
  std::optional<Value> speed = {};          // a number, or a list of one per node
  std::optional<double> seconds_per_step = {};
  Learning learning = Learning::real;
};

struct GridSettings {
  Admission admit = Admission::invited;
  int wait_for = 1;
  std::string wait_limit = "1h";
  std::string name = {};
  CutOff partition = CutOff::wait;
  MemberData data = MemberData::own;
  MemberWeight weight = MemberWeight::samples;
  std::string listen = "0.0.0.0:0";
  std::vector<std::string> address = {};
  bool relay = false;
  bool multicast = true;
  bool upnp = false;
  std::string dht = {};
};

}  // namespace veche
