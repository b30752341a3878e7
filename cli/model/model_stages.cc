#include "cli/model/model_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/errors.h"
#include "veche/model/zoo.h"
#include "veche/runtime/plan/pipeline_plan.h"

namespace veche::cli {
namespace {

using nlohmann::ordered_json;

constexpr double kBackward = 2;  // times the forward pass

struct ShownStage {
  std::string first, last;  // blocks
  int blocks = 0;
  std::uint64_t parameters = 0;
  std::int64_t flops = 0;            // of a sample, forward
  std::size_t sent = 0;              // bytes of a sample's activations; 0 at the last stage
  std::size_t activations = 0;       // bytes that a sample's blocks make, in all
  double forward = 0, backward = 0;  // seconds of a micro-batch
  int held = 0;                      // micro-batches at once
};

void check_stages(const StagesWords& words, int micro_batches, std::size_t blocks) {
  if (words.stages < 1 || static_cast<std::size_t>(words.stages) > blocks)
    throw RequestError(
        fmt::format("--stages {}: the model has {} blocks: choose 1 to {}", words.stages, blocks, blocks));
  if (!words.speed.empty() && static_cast<int>(words.speed.size()) != words.stages)
    throw RequestError(fmt::format("--speed has {} numbers for {} stages", words.speed.size(), words.stages));
  if (std::ranges::any_of(words.speed, [](double speed) { return !(speed > 0); }))
    throw RequestError("--speed must be above 0");
  if (micro_batches > words.batch)
    throw RequestError(fmt::format("--micro-batches {} are more than the {} samples of --batch",
                                   micro_batches, words.batch));
}

std::vector<double> costs_by(const std::string& measure, const std::vector<BlockDescription>& blocks,
                             const std::vector<double>& seconds) {
  if (measure == "time") return seconds;
  std::vector<double> costs;
  for (const BlockDescription& block : blocks)
    costs.push_back(measure == "layers" ? 1 : static_cast<double>(block.parameters));
  return costs;
}

}  // namespace

void show_stages(const ModelSpec& model, const StagesWords& words, bool json) {
  const std::vector<BlockDescription> blocks = describe_blocks(model);
  const int count = static_cast<int>(blocks.size());
  const int parts = words.micro_batches > 0 ? words.micro_batches : std::min(4 * words.stages, words.batch);
  check_stages(words, parts, blocks.size());
  const Schedule schedule = read_schedule(words.schedule);
  const std::vector<double> seconds =
      measure_blocks(model, samples_in(static_cast<std::size_t>(words.batch), parts, 0));
  std::vector<double> speeds(static_cast<std::size_t>(words.stages), 1.0);
  if (!words.speed.empty()) {
    const double quickest = std::ranges::max(words.speed);  // this machine
    std::ranges::transform(words.speed, speeds.begin(), [&](double speed) { return speed / quickest; });
  }
  const auto equal = std::vector<double>(speeds.size(), 1.0);
  const Cut cut = best_cut(costs_by(words.cut, blocks, seconds), words.cut == "parameters" ? equal : speeds);

  std::vector<ShownStage> stages;
  std::vector<double> forward, backward;
  for (int s = 0; s < words.stages; ++s) {
    const BlockRange range = blocks_of_stage(cut, count, s);
    const auto from = static_cast<std::size_t>(range.from), to = static_cast<std::size_t>(range.to);
    ShownStage stage{
        .first = blocks[from].name, .last = blocks[to - 1].name, .blocks = range.to - range.from};
    double took = 0;
    for (std::size_t i = from; i < to; ++i) {
      stage.parameters += blocks[i].parameters;
      stage.flops += 2 * blocks[i].multiply_adds;
      stage.activations += blocks[i].output;
      took += seconds[i] / speeds[static_cast<std::size_t>(s)];
    }
    stage.sent = s + 1 < words.stages ? blocks[to - 1].output : 0;
    stage.forward = took / (1 + kBackward);
    stage.backward = took - stage.forward;
    stage.held = most_held(passes_of_stage(schedule, words.stages, s, parts));
    forward.push_back(stage.forward);
    backward.push_back(stage.backward);
    stages.push_back(stage);
  }
  const double step = makespan(schedule, forward, backward, parts);
  const double waiting = bubble(schedule, forward, backward, parts);

  if (json) {
    ordered_json rows = ordered_json::array();
    for (const ShownStage& stage : stages)
      rows.push_back({{"blocks", stage.blocks},
                      {"first", stage.first},
                      {"last", stage.last},
                      {"parameters", stage.parameters},
                      {"flops", stage.flops},
                      {"activation_bytes", stage.sent},
                      {"block_output_bytes", stage.activations},
                      {"forward_seconds", stage.forward},
                      {"backward_seconds", stage.backward},
                      {"micro_batches_held", stage.held}});
    answer_json(ordered_json{{"name", model.name},
                             {"cut", cut},
                             {"micro_batches", parts},
                             {"batch", words.batch},
                             {"schedule", words.schedule},
                             {"step_seconds", step},
                             {"bubble", waiting},
                             {"stages", rows}});
    return;
  }
  Table table(
      {"stage", "blocks", "parameters", "FLOPs/sample", "sent/sample", "forward", "backward", "held"});
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const ShownStage& stage = stages[s];
    table.row({fmt::format("{}: {} .. {}", s, stage.first, stage.last), std::to_string(stage.blocks),
               with_commas(stage.parameters), fmt::format("{:.1f} M", static_cast<double>(stage.flops) / 1e6),
               stage.sent == 0 ? "" : bytes(static_cast<double>(stage.sent)),
               fmt::format("{:.1f} ms", 1e3 * stage.forward), fmt::format("{:.1f} ms", 1e3 * stage.backward),
               std::to_string(stage.held)});
  }
  answer("{}", table.text());
  answer(
      "pipeline.cut = {}: a step of {} samples in {} micro-batches ({}) takes {:.0f} ms, of which {:.0f} % "
      "are waiting, and sends {} of activations\n",
      ordered_json(cut).dump(), words.batch, parts, words.schedule, 1e3 * step, 1e2 * waiting,
      bytes(std::accumulate(stages.begin(), stages.end(), 0.0, [&](double sum, const ShownStage& stage) {
        return sum + 2.0 * words.batch * static_cast<double>(stage.sent);
      })));
}

}  // namespace veche::cli
