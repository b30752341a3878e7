#include "cli/train/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/process/own_process.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/train/job_view.h"
#include "veche/base/text/figures.h"
#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/comparison.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_table(const Json& lines, bool has_target) {
  const auto is_virtual = [](const Json& line) { return line["virtual_time"].get<bool>(); };
  const bool all_virtual = std::ranges::all_of(lines, is_virtual);
  const Measure& measure = main_measure(task_in(lines.front()));
  const std::string per_second =
      fmt::format("{}/{}", things_of(task_in(lines.front())), all_virtual ? "virtual s" : "s");
  std::vector<std::string> head{
      "variant",
      "nodes",
      "steps",
      fmt::format("{} of the nodes", measure.title),
      "averaged model",
      "train loss",
      per_second,
      "sent",
      fmt::format("{}seconds{}", all_virtual ? "virtual " : "", has_target ? " to the target" : "")};
  const bool coded =
      std::ranges::any_of(lines, [](const Json& line) { return line.contains("compression"); });
  if (coded) head.insert(head.end(), {"ratio", "remembered", "coding"});
  Table table(std::move(head));
  for (const Json& line : lines) {
    const Measure& its = main_measure(task_in(line));
    const auto tested = line.find(its.name);
    const bool is_tested = tested != line.end();
    std::vector<std::string> row{
        line["variant"].get<std::string>(),
        with_commas(line["nodes"].get<std::uint64_t>()),
        with_commas(static_cast<std::uint64_t>(line["steps"].get<double>())),
        is_tested ? shown(its, tested->at("mean").get<double>(), tested->at("std").get<double>()) : "",
        is_tested ? shown(its, tested->at("average_model").get<double>()) : "",
        three(line["train_loss"].get<double>()),
        three(throughput_in(line).value_or(0)),
        bytes(line["bytes_sent"].get<double>()),
        has_target && !line["reached_target"].get<bool>()
            ? "not reached"
            : figures::plain(figures::three(line["seconds"]["mean"].get<double>(),
                                            line["seconds"]["std"].get<double>())) +
                  (is_virtual(line) && !all_virtual ? " virtual" : "")};
    if (line.contains("compression")) {
      const Json& coding = line["compression"];
      row.insert(row.end(), {three(coding["ratio"].get<double>()), three(coding["remembered"].get<double>()),
                             seconds(coding["coding_seconds"].get<double>())});
    } else if (coded) {
      row.insert(row.end(), {"", "", ""});
    }
    table.row(std::move(row));
  }
  tell("\n{}", table.text());
}

}  // namespace

int compare(const Comparison& comparison, ProgressView& view) {
  Job* const job = comparison.job;
  const ComparisonPlan plan(comparison.config, comparison.variants, job);
  const auto run_one = [&](const ComparedRun& one) {
    view.title(fmt::format("\n== {}, seed {}", one.variant.name, one.seed));
    view.in_virtual_time(one.needs_process);
    const TrainingRequest request{
        .settings = one.settings, .observer = &view, .interrupted = comparison.interrupted, .job = job};
    const auto train = [&] { return summary(run_training(request)); };
    return one.needs_process ? in_process_of_its_own(train, *comparison.interrupted) : train();
  };
  const ComparisonResult result = run_comparison(plan, comparison.repeat, job, run_one);
  if (result.interrupted)
    throw RunError(fmt::format("the comparison was interrupted; `{}` continues the current run",
                               resume_command(*result.interrupted, job)));
  if (!is_rank_zero(job)) return 0;
  if (comparison.json) answer_json(result.content);
  if (!comparison.quiet) {
    print_table(result.content.at("comparison"), plan.first().run.target_accuracy || plan.first().run.target);
    tell("\n  runs and compare.json  {}\n", plan.folder().string());
  }
  return 0;
}

}  // namespace veche::cli
