// `veche data split`: shows the division of samples among nodes before training.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/data/data_commands.h"
#include "cli/data/data_options.h"
#include "cli/data/split_picture.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/data/division/partition.h"
#include "veche/errors.h"
#include "veche/runtime/plan/run_plan.h"

namespace veche::cli {
namespace {

constexpr std::size_t kColumns = 12;  // classes that fit side by side

struct SplitArguments {
  std::string config;
  std::vector<std::string> assignments;
  std::string plot;
  bool json = false;
};

SplitCounts count(const RunPlan& plan) {
  SplitCounts split;
  const Dataset& data = *plan.source.train;
  const bool classes = data.task() == Task::classification;
  if (!classes) split.classes.emplace_back("samples");
  for (int label = 0; classes && label < data.classes(); ++label) {
    const auto& names = plan.source.class_names;
    split.classes.push_back(names.empty() ? std::to_string(label) : names[static_cast<std::size_t>(label)]);
  }
  for (const auto& shard : plan.training.data.partition) {
    auto& counts = split.counts.emplace_back(split.classes.size());
    for (const std::uint32_t sample : shard)
      ++counts[classes ? static_cast<std::size_t>(data.label(sample)) : 0];
  }
  return split;
}

// Distance of a node's class distribution from the overall one, between 0 and 1: the fraction of
// its samples that would need another class.
double skew(const SplitCounts& split, std::size_t node) {
  const auto own = static_cast<double>(split.samples(node));
  if (own == 0) return 0;
  double all = 0, distance = 0;
  for (std::size_t other = 0; other < split.counts.size(); ++other)
    all += static_cast<double>(split.samples(other));
  for (std::size_t label = 0; label < split.classes.size(); ++label) {
    double whole = 0;
    for (const auto& counts : split.counts) whole += static_cast<double>(counts[label]);
    distance += std::abs(static_cast<double>(split.counts[node][label]) / own - whole / all) / 2;
  }
  return distance;
}

void print_table(const SplitCounts& split) {
  const bool wide = split.classes.size() <= kColumns;
  std::vector<std::string> head{"node", "samples", "skew"};
  if (wide)
    head.insert(head.end(), split.classes.begin(), split.classes.end());
  else
    head.emplace_back("classes");
  Table table(head);
  for (std::size_t node = 0; node < split.counts.size(); ++node) {
    std::vector<std::string> cells{std::to_string(node), with_commas(split.samples(node)),
                                   fmt::format("{:.3f}", skew(split, node))};
    if (wide)
      for (const std::uint64_t number : split.counts[node]) cells.push_back(with_commas(number));
    else
      cells.push_back(std::to_string(split.classes.size() -
                                     static_cast<std::size_t>(std::ranges::count(split.counts[node], 0u))));
    table.row(cells);
  }
  answer("{}", table.text());
}

void print_json(const RunPlan& plan, const SplitCounts& split) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (std::size_t node = 0; node < split.counts.size(); ++node)
    nodes.push_back({{"node", node},
                     {"samples", split.samples(node)},
                     {"skew", skew(split, node)},
                     {"per_class", split.counts[node]}});
  answer_json(nlohmann::ordered_json{{"data", plan.source.name},
                                     {"partition", word_of(plan.settings.data.partition)},
                                     {"samples", plan.source.train->size()},
                                     {"classes", split.classes},
                                     {"nodes", nodes}});
}

void check_plot(const std::string& file) {
  if (!file.empty() && !file.ends_with(".svg") && !file.ends_with(".png"))
    throw RequestError(fmt::format("--plot {} must end in .svg or .png", file));
}

void plot(const std::string& file, const RunPlan& plan, const SplitCounts& split) {
  const Picture picture =
      draw_split(split, fmt::format("{}, {}, seed {}", plan.source.name,
                                    word_of(plan.settings.data.partition), plan.settings.seed()));
  if (file.ends_with(".png")) return write_png(picture, file);
  std::ofstream out(file, std::ios::binary);
  if (!(out << to_svg(picture) << std::flush))
    throw RequestError("the picture '" + file + "' cannot be written");
}

void run_split(const SplitArguments& arguments) {
  check_plot(arguments.plot);
  Config config = arguments.config.empty() ? Config{} : Config::from_file(arguments.config);
  for (const std::string& assignment : arguments.assignments) config.set(assignment);
  const Settings settings = config.resolve();
  if (settings.brings_data)
    throw RequestError("model.name = \"" + settings.model.name + "\" has no data that could be divided");
  const RunPlan plan(settings);
  tell_notes(plan.source);
  const SplitCounts split = count(plan);
  if (!arguments.plot.empty()) plot(arguments.plot, plan, split);
  if (arguments.json)
    print_json(plan, split);
  else
    print_table(split);
}

}  // namespace

void add_data_split(CLI::App& data) {
  auto arguments = std::make_shared<SplitArguments>();
  CLI::App* command = data.add_subcommand("split", "Show how a run divides its samples among nodes");
  command->add_option("CONFIG", arguments->config, "a TOML file, as for `veche train`")->type_name("FILE");
  command->add_option("--set", arguments->assignments, "section.key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--plot", arguments->plot, "write a picture to this file, .svg or .png")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "one JSON object");
  command->callback([arguments] { run_split(*arguments); });
}

}  // namespace veche::cli
