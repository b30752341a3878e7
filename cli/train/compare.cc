#include "cli/train/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/process/own_process.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/train/job_view.h"
#include "veche/errors.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/comparison.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_table(const Json& lines, bool has_target) {
  const auto is_virtual = [](const Json& line) { return line["virtual_time"].get<bool>(); };
  const bool all_virtual = std::ranges::all_of(lines, is_virtual);
  std::vector<std::string> head{
      "variant",
      "nodes",
      "steps",
      "accuracy of the nodes",
      "averaged model",
      "train loss",
      all_virtual ? "images/virtual s" : "images/s",
      "sent",
      fmt::format("{}seconds{}", all_virtual ? "virtual " : "", has_target ? " to the target" : "")};
  const bool coded =
      std::ranges::any_of(lines, [](const Json& line) { return line.contains("compression"); });
  if (coded) head.insert(head.end(), {"ratio", "remembered", "coding"});
  Table table(std::move(head));
  for (const Json& line : lines) {
    const bool tested = line.contains("accuracy");
    std::vector<std::string> row{
        line["variant"].get<std::string>(),
        with_commas(line["nodes"].get<std::uint64_t>()),
        with_commas(static_cast<std::uint64_t>(line["steps"].get<double>())),
        tested ? fmt::format("{:.2f} +- {:.2f} %", 100 * line["accuracy"]["mean"].get<double>(),
                             100 * line["accuracy"]["std"].get<double>())
               : "",
        tested ? fmt::format("{:.2f} %", 100 * line["accuracy"]["average_model"].get<double>()) : "",
        fmt::format("{:.4f}", line["train_loss"].get<double>()),
        with_commas(static_cast<std::uint64_t>(line["images_per_second"].get<double>())),
        bytes(line["bytes_sent"].get<double>()),
        has_target && !line["reached_target"].get<bool>()
            ? "not reached"
            : fmt::format("{:#.4g} +- {:.2g}{}", line["seconds"]["mean"].get<double>(),
                          line["seconds"]["std"].get<double>(),
                          is_virtual(line) && !all_virtual ? " virtual" : "")};
    if (line.contains("compression")) {
      const Json& coding = line["compression"];
      row.insert(row.end(), {fmt::format("{:.4g}", coding["ratio"].get<double>()),
                             fmt::format("{:.3g}", coding["remembered"].get<double>()),
                             fmt::format("{:.1f} s", coding["coding_seconds"].get<double>())});
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
    print_table(result.content.at("comparison"), plan.first().run.target_accuracy.has_value());
    tell("\n  runs and compare.json  {}\n", plan.folder().string());
  }
  return 0;
}

}  // namespace veche::cli
