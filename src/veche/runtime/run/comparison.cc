#include "veche/runtime/run/comparison.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>
#include <string_view>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/record/comparison_summary.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/run/collective.h"
#include "veche/stop_reason.h"

namespace veche {
namespace {

// Splits at commas outside brackets and quotes.
std::vector<std::string> split_values(std::string_view text) {
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

// "strategy=local-sgd:8" sets the strategy and the key that its name takes after a colon;
// "compress=fp16" sets the codec.
std::vector<std::string> assignments_of(const std::string& key, const std::string& value) {
  if (key == "compress") return {"compress.codec=" + value};
  if (key != "strategy") return {key + "=" + value};
  const std::size_t colon = value.find(':');
  const std::string name = value.substr(0, colon);
  if (colon == std::string::npos) return {"strategy.name=" + name};
  const StrategyInfo& info = find_strategy(name);
  if (info.shorthand.empty())
    throw RequestError("strategy '" + name + "' takes no value after a colon: write strategy=" + name);
  return {"strategy.name=" + name, "strategy." + info.shorthand + "=" + value.substr(colon + 1)};
}

std::string folder_name(const std::string& variant, std::int64_t seed) {
  std::string name;
  for (const char c : variant) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '-';
  return fmt::format("{}-seed{}", name, seed);
}

void refuse_equal_names(const std::vector<Variant>& variants) {
  std::set<std::string> names;
  for (const Variant& variant : variants)
    if (!names.insert(folder_name(variant.name, 0)).second)
      throw RequestError(fmt::format("--compare has '{}' twice, or two that are named alike", variant.name));
}

// Strategies on different numbers of nodes cannot be compared, unless the comparison is about that
// number.
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

std::string name_by_time() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("compare-{:%Y%m%d-%H%M%S}", fmt::localtime(now));
}

}  // namespace

std::vector<Variant> expand_variants(const std::vector<std::string>& words) {
  std::vector<Variant> variants{{}};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw RequestError("--compare " + word +
                         " is not of the form strategy=a,b, compress=a,b or section.key=a,b");
    std::vector<Variant> longer;
    for (const Variant& variant : variants)
      for (const std::string& value : split_values(std::string_view(word).substr(equals + 1))) {
        Variant next = variant;
        next.name += (next.name.empty() ? "" : " ") + value;
        for (std::string& assignment : assignments_of(word.substr(0, equals), value))
          next.assignments.push_back(std::move(assignment));
        longer.push_back(std::move(next));
      }
    variants = std::move(longer);
  }
  refuse_equal_names(variants);
  return variants;
}

ComparisonPlan::ComparisonPlan(Config common, const std::vector<std::string>& words, Job* job)
    : common_(std::move(common)),
      ranks_(job == nullptr ? 1 : job->size()),
      variants_(expand_variants(words)) {
  run_collectively(job, [&] {
    std::vector<Settings> all;
    for (const Variant& variant : variants_) all.push_back(config_of(variant).resolve());
    refuse_unequal_nodes(variants_, all);
    for (const Settings& settings : all) {
      if (job == nullptr)
        RunPlan{settings};
      else
        RunPlan{settings, OpenOptions{.processes = job->ranks_on_this_host()}, job->on_one_host()};
    }
  });
  first_ = config_of(variants_.front()).resolve();
  folder_ = std::filesystem::path(first_.run.out) / broadcast(job, name_by_time());
}

Config ComparisonPlan::config_of(const Variant& variant) const {
  Config config = common_;
  for (const std::string& assignment : variant.assignments) config.set(assignment);
  if (ranks_ > 1) config.prefer_nodes(ranks_);
  return config;
}

Settings ComparisonPlan::settings(const Variant& variant, std::int64_t seed) const {
  Config config = config_of(variant);
  config.set("run.seed=" + std::to_string(seed));
  config.set("run.out=" + to_toml(Value{folder_.string()}));
  config.set("run.name=" + folder_name(variant.name, seed));
  return config.resolve();
}

ComparisonResult run_comparison(const ComparisonPlan& plan, int repeat, Job* job,
                                const std::function<nlohmann::ordered_json(const ComparedRun&)>& run) {
  using Json = nlohmann::ordered_json;
  Json lines = Json::array(), summaries = Json::array();
  const std::int64_t first_seed = plan.first().run.seed;
  for (const Variant& variant : plan.variants()) {
    std::vector<Json> runs;
    for (std::int64_t seed = first_seed; seed < first_seed + repeat; ++seed) {
      Settings settings = plan.settings(variant, seed);
      const bool needs_process = settings.is_simulated();
      runs.push_back(run({variant, seed, std::move(settings), needs_process}));
      if (runs.back().at("stopped") == to_string(StopReason::interrupted))
        return {{}, runs.back().at("run").get<std::string>()};
      if (is_rank_zero(job)) summaries.push_back(runs.back());
    }
    if (is_rank_zero(job)) lines.push_back(variant_summary(variant.name, runs));
  }
  if (!is_rank_zero(job)) return {};
  ComparisonResult result{{{"comparison", lines}, {"runs", summaries}}};
  write_file(plan.folder() / "compare.json", result.content.dump(2) + "\n");
  return result;
}

}  // namespace veche
