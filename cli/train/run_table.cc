#include "cli/train/run_table.h"

#include <cmath>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/runtime/record/measures_json.h"
#include "veche/runtime/record/summary.h"

namespace veche::cli {
namespace {

constexpr std::size_t kMostRows = 64;  // nodes that the table shows

// "97.31 %", and of other tasks all measures: "perplexity 5.127, loss per token 1.6346".
std::string all_measures(const TestResult& result) {
  const Measure& main = main_measure(result.task);
  std::string text;
  for (const Measure& measure : measures_of(result.task)) {
    const auto value = measure.value(result);
    if (!value) continue;
    if (&measure == &main && !measure.unit.empty())
      text += shown(measure, *value);
    else
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", measure.title, shown(measure, *value));
  }
  return text;
}

void tell_stages(const RunResult& result) {
  double computing = 0, waiting = 0, sent = 0;
  for (const NodeReport& node : result.last.nodes) {
    computing += node.stage.compute_seconds;
    waiting += node.stage.bubble_seconds;
    sent += static_cast<double>(node.stage.sent.bytes);
  }
  tell(
      "  stages                 {} of each of {} models; {:.0f} % of their time is waiting; {} of "
      "activations\n",
      result.info.stages, result.info.nodes / result.info.stages,
      computing > 0 ? 100 * waiting / (computing + waiting) : 0, bytes(sent));
}

}  // namespace

void print_run(const RunResult& result) {
  const Evaluation& last = result.last;
  const bool tested = last.average_model.count > 0;
  const TestResult& average = last.average_model;
  const Measure& measure = main_measure(average.task);
  Table table({"node", tested ? fmt::format("test {}", measure.title) : "loss", "from the mean", "steps",
               "computing", "waiting", "communicating", "sent"});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < last.nodes.size() && rows < kMostRows; ++i) {
    const NodeReport& node = last.nodes[i];
    if (tested && node.test.count == 0) continue;
    ++rows;
    table.row(
        {std::to_string(i),
         tested ? shown(measure, *measure.value(as_result(node.test, average))) : three(node.train.loss()),
         three(std::sqrt(node.from_mean.l2_squared)), with_commas(node.steps), seconds(node.compute_seconds),
         seconds(node.waiting_seconds), seconds(node.communication_seconds),
         bytes(static_cast<double>(node.sent.bytes))});
  }
  tell("\n{}{}\n", result.wall_seconds ? "  all times are virtual\n" : "", table.text());
  if (rows < last.nodes.size())
    tell("  {} of {} nodes; all are in summary.json\n", rows, with_commas(last.nodes.size()));
  if (tested) {
    const Spread spread = spread_of_nodes(last);
    tell("  {:<22} {}{}\n", fmt::format("{} of the nodes", measure.title),
         shown(measure, spread.mean, spread.std),
         spread.count < last.nodes.size() ? fmt::format(", of {} that were tested", spread.count) : "");
    tell("  averaged model         {}\n", all_measures(average));
  }
  const Disagreement apart = disagreement(last);
  tell("  disagreement           {} % (coefficient of variation of the parameters)\n", three(100 * apart.cv));
  const std::string_view things = result.info.data.empty() ? "steps" : things_of(average.task);
  const std::string speed = three(last.targets_per_second);
  if (result.wall_seconds)
    tell("  speed                  {} {} a virtual second, {} virtual seconds of training, {} really\n",
         speed, things, three(last.seconds), duration(*result.wall_seconds));
  else
    tell("  speed                  {} {}/s, {} of training\n", speed, things, duration(last.seconds));
  if (result.info.stages > 1) tell_stages(result);
  if (const Staleness staleness = total_staleness(last); !staleness.empty())
    tell("  staleness              {} on the average, {} at most, {} dropped\n", three(staleness.mean()),
         staleness.most, with_commas(staleness.dropped));
  if (const Coding coding = total_coding(last); !coding.empty())
    tell("  codec                  {}: 1/{} of the bytes, {} of coding, {} remembered\n", result.info.codec,
         three(coding.ratio()), duration(coding.seconds), three(std::sqrt(coding.remembered_squared)));
  const Traffic sent = total_sent(last);
  tell("  sent                   {} in {} messages\n", bytes(static_cast<double>(sent.bytes)),
       with_commas(sent.messages));
  if (const Traffic samples = total_samples_sent(last); samples.messages > 0)
    tell("  samples lent           {} in {} messages\n", bytes(static_cast<double>(samples.bytes)),
         with_commas(samples.messages));
  tell("  run                    {}\n", result.info.folder.string());
}

}  // namespace veche::cli
