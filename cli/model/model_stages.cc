#include "cli/model/model_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/errors.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/key_words.h"
#include "veche/runtime/config/settle.h"
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

void check_stages(const StagesArguments& arguments, int micro_batches, std::size_t blocks) {
  if (arguments.stages < 1 || static_cast<std::size_t>(arguments.stages) > blocks)
    throw RequestError(fmt::format("--stages {}: the model has {} blocks: choose 1 to {}", arguments.stages,
                                   blocks, blocks));
  if (!arguments.speed.empty() && static_cast<int>(arguments.speed.size()) != arguments.stages)
    throw RequestError(
        fmt::format("--speed has {} numbers for {} stages", arguments.speed.size(), arguments.stages));
  if (std::ranges::any_of(arguments.speed, [](double speed) { return !(speed > 0); }))
    throw RequestError("--speed must be above 0");
  if (micro_batches > arguments.batch)
    throw RequestError(fmt::format("--micro-batches {} are more than the {} samples of --batch",
                                   micro_batches, arguments.batch));
}

// Every stage's speed in those of the fastest one, which is this machine.
std::vector<double> relative_speeds(const StagesArguments& arguments) {
  std::vector<double> speeds(static_cast<std::size_t>(arguments.stages), 1.0);
  if (arguments.speed.empty()) return speeds;
  const double fastest = std::ranges::max(arguments.speed);
  std::ranges::transform(arguments.speed, speeds.begin(), [&](double speed) { return speed / fastest; });
  return speeds;
}

struct ShownCut {
  Cut cut;
  int micro_batches = 0;
  std::vector<ShownStage> stages;
  double step = 0;     // seconds
  double waiting = 0;  // part of the step
};

ShownStage show_stage(const std::vector<BlockDescription>& blocks, const std::vector<double>& seconds,
                      const BlockRange& range, double speed) {
  const auto from = static_cast<std::size_t>(range.from), to = static_cast<std::size_t>(range.to);
  ShownStage stage{.first = blocks[from].name, .last = blocks[to - 1].name, .blocks = range.to - range.from};
  double took = 0;
  for (std::size_t i = from; i < to; ++i) {
    stage.parameters += blocks[i].parameters;
    stage.flops += 2 * blocks[i].multiply_adds;
    stage.activations += blocks[i].output;
    took += seconds[i] / speed;
  }
  stage.sent = to < blocks.size() ? blocks[to - 1].output : 0;
  stage.forward = took / (1 + kBackward);
  stage.backward = took - stage.forward;
  return stage;
}

ShownCut cut_and_measure(const ModelSpec& model, const StagesArguments& arguments) {
  const std::vector<BlockDescription> blocks = describe_blocks(model);
  ShownCut shown;
  shown.micro_batches = arguments.micro_batches > 0
                            ? arguments.micro_batches
                            : static_cast<int>(usual_micro_batches(arguments.stages, arguments.batch));
  const int parts = shown.micro_batches;
  check_stages(arguments, parts, blocks.size());
  const std::vector<double> seconds =
      measure_blocks(model, samples_in(static_cast<std::size_t>(arguments.batch), parts, 0));
  const std::vector<double> speeds = relative_speeds(arguments);
  shown.cut = plan_cut(blocks, {of_word<PipelineCut::By>(arguments.cut), speeds, seconds});
  const Schedule schedule = of_word<Schedule>(arguments.schedule);
  std::vector<double> forward, backward;
  for (int s = 0; s < arguments.stages; ++s) {
    const BlockRange range = blocks_of_stage(shown.cut, static_cast<int>(blocks.size()), s);
    ShownStage stage = show_stage(blocks, seconds, range, speeds[static_cast<std::size_t>(s)]);
    stage.held = most_held(passes_of_stage(schedule, arguments.stages, s, parts));
    forward.push_back(stage.forward);
    backward.push_back(stage.backward);
    shown.stages.push_back(std::move(stage));
  }
  shown.step = makespan(schedule, forward, backward, parts);
  shown.waiting = bubble(schedule, forward, backward, parts);
  return shown;
}

void print_json(const ShownCut& shown, const ModelSpec& model, const StagesArguments& arguments) {
  ordered_json rows = ordered_json::array();
  for (const ShownStage& stage : shown.stages)
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
                           {"cut", shown.cut},
                           {"micro_batches", shown.micro_batches},
                           {"batch", arguments.batch},
                           {"schedule", arguments.schedule},
                           {"step_seconds", shown.step},
                           {"bubble", shown.waiting},
                           {"stages", rows}});
}

void print_table(const ShownCut& shown, const StagesArguments& arguments) {
  Table table(
      {"stage", "blocks", "parameters", "FLOPs/sample", "sent/sample", "forward", "backward", "held"});
  for (std::size_t s = 0; s < shown.stages.size(); ++s) {
    const ShownStage& stage = shown.stages[s];
    table.row({fmt::format("{}: {} .. {}", s, stage.first, stage.last), std::to_string(stage.blocks),
               with_commas(stage.parameters), fmt::format("{:.1f} M", static_cast<double>(stage.flops) / 1e6),
               stage.sent == 0 ? "" : bytes(static_cast<double>(stage.sent)),
               fmt::format("{:.1f} ms", 1e3 * stage.forward), fmt::format("{:.1f} ms", 1e3 * stage.backward),
               std::to_string(stage.held)});
  }
  answer("{}", table.text());
  double sent = 0;
  for (const ShownStage& stage : shown.stages)
    sent += 2.0 * arguments.batch * static_cast<double>(stage.sent);
  answer(
      "pipeline.cut = {}: a step of {} samples in {} micro-batches ({}) takes {:.0f} ms, of which {:.0f} % "
      "are waiting, and sends {} of activations\n",
      ordered_json(shown.cut).dump(), arguments.batch, shown.micro_batches, arguments.schedule,
      1e3 * shown.step, 1e2 * shown.waiting, bytes(sent));
}

}  // namespace

void show_stages(const ModelSpec& model, const StagesArguments& arguments, bool json) {
  const ShownCut shown = cut_and_measure(model, arguments);
  if (json)
    print_json(shown, model, arguments);
  else
    print_table(shown, arguments);
}

}  // namespace veche::cli
