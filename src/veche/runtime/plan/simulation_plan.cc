#include "veche/runtime/plan/simulation_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/data/sets/source.h"
#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/network_keys.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

constexpr std::uint64_t kShortFloats = 16384;  // approximate length of short vectors
constexpr std::uint64_t kWordsOfItsOwn = 16;   // maximum floats per part
constexpr int kPartsOfWhole = 64;              // of vectors that need not be divided
constexpr double kOperationsPerProduct = 2;    // a multiplication and an addition

// Number of equal parts into which nodes may divide what they send. Along graph edges vectors are
// sent whole; there the number is limited, so that a message costs the same among thousands of
// nodes as among a few.
std::uint64_t parts_of(const Settings& settings) {
  const StrategyInfo& info = find_strategy(settings.strategy.name);
  const int nodes = settings.nodes();
  const bool whole = info.uses_topology() && info.graph_nodes(settings.strategy, nodes) == nodes;
  return static_cast<std::uint64_t>(whole ? std::min(nodes, kPartsOfWhole) : nodes);
}

// The short vector consists of `parts` equal shares of whole floats, so each part of it represents
// the same part of the long vector. Other fields of a message are shorter than a share and count as
// they are.
void shorten(SimulationPlan& plan, std::uint64_t parts) {
  const std::uint64_t share = std::clamp<std::uint64_t>(kShortFloats / parts, 1, kWordsOfItsOwn);
  plan.short_length = std::min<std::size_t>(plan.parameters, share * parts);
  if (plan.short_length == plan.parameters) return;
  plan.network.short_floats = share;
  plan.network.long_bytes = sizeof(float) * static_cast<double>(plan.parameters) / static_cast<double>(parts);
}

bool needs_threads(const Settings& settings) {
  if (find_strategy(settings.strategy.name).needs_threads) return true;
  const OwnModel* const model = own_models().find(settings.model.name);
  if (model != nullptr && model->needs_threads) return true;
  const OwnDataset* const data =
      settings.brings_data ? nullptr : own_datasets().find(settings.data.name.value_or(""));
  return data != nullptr && data->needs_threads;
}

class StandIn : public Learner {
 public:
  explicit StandIn(std::shared_ptr<std::vector<float>> vectors) : vectors_(std::move(vectors)) {}

  std::span<float> parameters() override { return std::span(*vectors_).first(vectors_->size() / 2); }
  std::span<float> gradients() override { return std::span(*vectors_).last(vectors_->size() / 2); }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& /*batch*/) override {
    return {.loss_sum = 0, .correct = 0, .count = 1};
  }
  Score evaluate(const Batch& /*batch*/) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  const std::shared_ptr<std::vector<float>> vectors_;
};

// Of a node; where a global batch is divided, the mean.
double samples_per_step(const Settings& settings) {
  const DataSettings& data = settings.data;
  if (settings.brings_data) return 1;
  if (data.global_batch) return static_cast<double>(*data.global_batch) / settings.replicas();
  return static_cast<double>(data.batch * data.accumulate);
}

}  // namespace

SimulationPlan plan_simulation(const Settings& settings, const ModelSpec& model) {
  SimulationPlan plan;
  plan.network = read_network(settings.network, settings.nodes(), settings.seed());
  plan.network.threads = needs_threads(settings);
  plan.learns = settings.network.learning == Learning::real;
  const bool measured = settings.network.seconds_per_step.has_value();
  // Models without data cost nothing, unless the configuration gives a cost.
  const bool counted = !measured && !settings.brings_data;
  ModelDescription described;
  if (counted || !plan.learns) described = describe_model(model);
  if (counted)
    plan.flops_per_sample =
        kForwardAndBackward * kOperationsPerProduct * static_cast<double>(described.multiply_adds);
  if (measured) {
    // Seconds on every node: operations on hosts that make one per second.
    plan.flops_per_sample = *settings.network.seconds_per_step / samples_per_step(settings);
    plan.network.speed.assign(static_cast<std::size_t>(settings.nodes()), 1.0);
  }
  if (plan.learns) return plan;
  // Codes of the short vectors would tell nothing about codes of the long ones.
  if (settings.compress.has_codec())
    throw RequestError(fmt::format(
        "network.learning = \"none\" sends no numbers that compress.codec = \"{}\" could code: choose "
        "network.learning = \"real\", or leave the codec out",
        settings.compress.codec));
  for (const TensorLayout& tensor : described.parameters) plan.parameters += size_of(tensor);
  shorten(plan, parts_of(settings));
  return plan;
}

std::unique_ptr<Learner> make_stand_in(std::shared_ptr<std::vector<float>> vectors) {
  return std::make_unique<StandIn>(std::move(vectors));
}

}  // namespace veche
