#include "cli/train/compare.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>

#include "cli/process/own_process.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/train/job_view.h"
#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/run/collective.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Variant {
  std::string name;                      // "local-sgd:8 ring"
  std::vector<std::string> assignments;  // for Config::set
};

// At commas outside brackets and quotes.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// "strategy=local-sgd:8" is the strategy and the key that its name takes behind a colon; "compress=fp16" the
// codec.
std::vector<std::string> assignments(const std::string& key, const std::string& value) {
  if (key == "compress") return {"compress.codec=" + value};
  if (key != "strategy") return {key + "=" + value};
  const std::size_t colon = value.find(':');
  const std::string name = value.substr(0, colon);
  if (colon == std::string::npos) return {"strategy.name=" + name};
  const StrategyInfo& info = find_strategy(name);
  if (info.shorthand.empty())
    throw RequestError("strategy '" + name + "' takes nothing behind a colon: write strategy=" + name);
  return {"strategy.name=" + name, "strategy." + info.shorthand + "=" + value.substr(colon + 1)};
}

std::vector<Variant> all_variants(const std::vector<std::string>& words) {
  std::vector<Variant> variants{{}};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw RequestError("--compare " + word +
                         " is not of the form strategy=a,b, compress=a,b or section.key=a,b");
    std::vector<Variant> longer;
    for (const Variant& variant : variants)
      for (const std::string& value : split(std::string_view(word).substr(equals + 1))) {
        Variant next = variant;
        next.name += (next.name.empty() ? "" : " ") + value;
        for (std::string& assignment : assignments(word.substr(0, equals), value))
          next.assignments.push_back(std::move(assignment));
        longer.push_back(std::move(next));
      }
    variants = std::move(longer);
  }
  return variants;
}

std::string folder_name(const std::string& variant, std::int64_t seed) {
  std::string name;
  for (const char c : variant) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '-';
  return fmt::format("{}-seed{}", name, seed);
}

// Two runs cannot have one folder.
void refuse_twins(const std::vector<Variant>& variants) {
  std::set<std::string> names;
  for (const Variant& variant : variants)
    if (!names.insert(folder_name(variant.name, 0)).second)
      throw RequestError(fmt::format("--compare has '{}' twice, or two that are named alike", variant.name));
}

// Strategies on different numbers of nodes cannot be compared, unless the number is what is compared.
void refuse_unequal_nodes(const std::vector<Variant>& variants, const std::vector<Settings>& settings) {
  const int nodes = settings.front().nodes();
  const auto other =
      std::ranges::find_if(settings, [&](const Settings& one) { return one.nodes() != nodes; });
  if (other == settings.end()) return;
  for (const std::string& assignment : variants.front().assignments)
    if (assignment.starts_with("cluster.nodes=")) return;
  throw RequestError(fmt::format(
      "--compare: '{}' has {} nodes and '{}' has {}; give all the same number, as in --nodes {}",
      variants.front().name, nodes, variants[static_cast<std::size_t>(other - settings.begin())].name,
      other->nodes(), std::max(nodes, other->nodes())));
}

struct Statistic {
  double mean = 0;
  double deviation = 0;
};
Statistic statistic(const std::vector<double>& values) {
  Statistic result;
  for (const double value : values) result.mean += value / static_cast<double>(values.size());
  for (const double value : values)
    result.deviation += std::pow(value - result.mean, 2) / static_cast<double>(values.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

// One line of the table: a variant over its repeats. With a single run the deviation is over its nodes.
Json line(const Variant& variant, const std::vector<Json>& runs) {
  const auto over_runs = [&](auto number) {
    std::vector<double> numbers;
    for (const Json& run : runs) numbers.push_back(number(run));
    return statistic(numbers);
  };
  const auto of = [&](const char* key) {
    return over_runs([&](const Json& run) { return run.at(key).template get<double>(); });
  };
  Json json{{"variant", variant.name},
            {"runs", runs.size()},
            {"nodes", runs.front().at("nodes")},
            {"steps", of("steps").mean},
            {"virtual_time", runs.front().contains("wall_seconds")}};
  if (runs.front().contains("accuracy")) {
    const auto accuracy = [&](const char* key) {
      return over_runs([&](const Json& run) { return run.at("accuracy").at(key).template get<double>(); });
    };
    json["accuracy"] = {{"mean", accuracy("mean").mean},
                        {"std", runs.size() == 1 ? accuracy("std").mean : accuracy("mean").deviation},
                        {"average_model", accuracy("average_model").mean}};
  }
  json["train_loss"] = of("train_loss").mean;
  json["images_per_second"] = of("images_per_second").mean;
  json["bytes_sent"] = of("bytes_sent").mean;
  if (runs.front().contains("compression")) {
    const auto coding = [&](const char* key) {
      return over_runs([&](const Json& run) { return run.at("compression").at(key).template get<double>(); })
          .mean;
    };
    for (const char* key : {"ratio", "remembered", "coding_seconds"}) json["compression"][key] = coding(key);
  }
  json["seconds"] = {{"mean", of("seconds").mean}, {"std", of("seconds").deviation}};
  json["reached_target"] = std::ranges::all_of(
      runs, [](const Json& run) { return run.at("stopped") == to_string(StopReason::target_accuracy); });
  return json;
}

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

// The first rank's clock names it.
std::filesystem::path new_folder(const Settings& settings, Job* job) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::string name = fmt::format("compare-{:%Y%m%d-%H%M%S}", fmt::localtime(now));
  if (job != nullptr) name = job->exchange(name).front();
  return std::filesystem::path(settings.run.out) / name;
}

}  // namespace

int compare(const Comparison& comparison, ProgressView& view) {
  Job* const job = comparison.job;
  const bool leads = job == nullptr || job->rank() == 0;
  const bool shows = leads && !comparison.quiet;
  const std::vector<Variant> variants = all_variants(comparison.variants);
  const auto configured = [&](const Variant& variant) {
    Config config = comparison.config;
    for (const std::string& assignment : variant.assignments) config.set(assignment);
    if (job != nullptr && job->size() > 1) config.prefer_nodes(job->size());
    return config;
  };
  refuse_twins(variants);
  run_collectively(job, [&] {  // refuses before the first one runs
    std::vector<Settings> all;
    for (const Variant& variant : variants) all.push_back(configured(variant).resolve());
    refuse_unequal_nodes(variants, all);
    for (const Settings& settings : all) {
      if (job == nullptr)
        RunPlan{settings};
      else
        RunPlan{settings, job->ranks_on_this_host(), job->on_one_host()};
    }
  });

  const Settings common = configured(variants.front()).resolve();
  const std::filesystem::path folder = new_folder(common, job);
  const std::int64_t first_seed = common.run.seed;
  Json lines = Json::array();
  Json summaries = Json::array();
  for (const Variant& variant : variants) {
    std::vector<Json> runs;
    for (std::int64_t seed = first_seed; seed < first_seed + comparison.repeat; ++seed) {
      view.title(fmt::format("\n== {}, seed {}", variant.name, seed));
      Config config = configured(variant);
      config.set("run.seed=" + std::to_string(seed));
      config.set("run.out=" + to_toml(Value{folder.string()}));
      config.set("run.name=" + folder_name(variant.name, seed));
      TrainingRequest request;
      request.settings = config.resolve();
      request.observer = &view;
      request.interrupted = comparison.interrupted;
      request.job = job;
      const auto run = [&] { return summary(run_training(request)); };
      // A process has one virtual clock, which begins once.
      const bool virtual_time = request.settings.cluster.transport == "simulated";
      view.in_virtual_time(virtual_time);
      runs.push_back(virtual_time ? in_process_of_its_own(run, *comparison.interrupted) : run());
      if (runs.back().at("stopped") == to_string(StopReason::interrupted))
        throw RunError(fmt::format("the comparison was stopped; `{}` goes on with the run under way",
                                   resume_command(runs.back().at("run").get<std::string>(), job)));
      if (leads) summaries.push_back(runs.back());
    }
    if (leads) lines.push_back(line(variant, runs));
  }
  if (!leads) return 0;
  const Json result{{"comparison", lines}, {"runs", summaries}};
  write_file(folder / "compare.json", result.dump(2) + "\n");
  if (comparison.json) answer_json(result);
  if (shows) {
    print_table(lines, common.run.target_accuracy.has_value());
    tell("\n  runs and compare.json  {}\n", folder.string());
  }
  return 0;
}

}  // namespace veche::cli
