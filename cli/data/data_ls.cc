#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/data/data_commands.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/data/sets/known_sets.h"
#include "veche/data/sets/open.h"
#include "veche/data/text/open_text.h"

namespace veche::cli {
namespace {

namespace fs = std::filesystem;

struct Row {
  std::string name, what, place;  // an empty place: not present
  int classes = 0;                // 0: not inspected
};

// Known sets, present or not, and other sets in the folder.
std::vector<Row> rows(const std::string& folder) {
  std::vector<Row> rows;
  std::error_code error;
  for (const KnownSet& set : known_sets()) {
    Row row{.name = set.name, .what = set.what, .place = {}, .classes = set.classes};
    for (const std::string& place : places_of(set, folder))
      if (row.place.empty() && recognise(place)) row.place = place;
    rows.push_back(row);
  }
  rows.push_back(
      {.name = "synthetic", .what = "made up, of any shape; needs no files", .place = "-", .classes = 0});
  std::vector<Row> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || std::ranges::find(rows, name, &Row::name) != rows.end()) continue;
    if (const auto kind = recognise(entry.path()))
      others.push_back({.name = name, .what = describe(*kind), .place = entry.path().string(), .classes = 0});
    else if (looks_like_text(entry.path()))
      others.push_back({.name = name, .what = "a text", .place = entry.path().string(), .classes = 0});
  }
  std::ranges::sort(others, {}, &Row::name);
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

void list(const std::string& folder, bool json) {
  nlohmann::ordered_json sets = nlohmann::ordered_json::array();
  Table table({"set", "where"});
  for (const Row& row : rows(folder)) {
    sets.push_back({{"name", row.name},
                    {"what", row.what},
                    {"place", row.place == "-" ? "" : row.place},
                    {"here", !row.place.empty()}});
    table.row({fmt::format("{:<14} {}", row.name, row.what),
               row.place.empty() ? "not here: veche data fetch " + row.name : row.place});
  }
  if (json) {
    answer_json(nlohmann::ordered_json{{"sets", sets}});
  } else {
    answer("{}", table.text());
  }
}

}  // namespace

void add_data_ls(CLI::App& data) {
  struct Arguments {
    std::string folder = "data";
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = data.add_subcommand("ls", "List the available sets and their folders");
  command->add_option("--folder", arguments->folder, "folder of fetched sets")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command->callback([arguments] { list(arguments->folder, arguments->json); });
}

}  // namespace veche::cli
