#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/data/data_commands.h"
#include "cli/data/data_options.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/files/files.h"
#include "veche/base/machine/cores.h"
#include "veche/data/sets/inspect.h"
#include "veche/data/sets/source.h"

namespace veche::cli {
namespace {

struct InspectArguments {
  DataChoice of;
  std::string sheet;
  int size = 0;
  int threads = 1;
  bool json = false;
};

nlohmann::ordered_json to_json(const DataSource& source, const Inspection& found) {
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  std::size_t train = 0, test = 0;
  for (const auto& one : found.classes) {
    classes.push_back({{"name", one.name}, {"train", one.train}, {"test", one.test}});
    train += one.train;
    test += one.test;
  }
  return {{"name", source.name},
          {"kind", source.kind},
          {"place", source.place},
          {"train", train},
          {"test", test},
          {"classes", classes},
          {"channels", found.channels},
          {"width", {found.least_width, found.most_width}},
          {"height", {found.least_height, found.most_height}},
          {"bytes", found.bytes},
          {"mean", found.mean},
          {"deviation", found.deviation},
          {"damaged", found.damaged},
          {"damage", found.damage}};
}

std::string range(int least, int most) {
  return least == most ? fmt::format("{}", least) : fmt::format("{}..{}", least, most);
}

void print(const DataSource& source, const Inspection& found) {
  answer("{}: {}{}\n", source.name, source.kind, source.place.empty() ? "" : " in " + source.place);
  Table table({"class", "train", "test"});
  std::size_t train = 0, test = 0;
  for (const auto& one : found.classes) {
    table.row({one.name, with_commas(one.train), with_commas(one.test)});
    train += one.train;
    test += one.test;
  }
  table.row({"all", with_commas(train), with_commas(test)});
  answer("{}", table.text());
  answer("  size       {} x {} pixels, {} channel{}, {} stored\n", range(found.least_width, found.most_width),
         range(found.least_height, found.most_height), found.channels, found.channels == 1 ? "" : "s",
         bytes(static_cast<double>(found.bytes)));
  answer("  mean       {:.4f}\n  deviation  {:.4f}\n", fmt::join(found.mean, "  "),
         fmt::join(found.deviation, "  "));
  if (found.damaged > 0 || !found.damage.empty()) answer("{} damaged:\n", with_commas(found.damaged));
  for (const std::string& sentence : found.damage) answer("  {}\n", sentence);
}

void run_inspect(const InspectArguments& arguments) {
  constexpr int kAnySize = 64;  // tile size on a sheet if image sizes differ
  DataChoice choice = arguments.of;
  choice.size = arguments.size;
  choice.skip_damaged = true;  // damage is reported, not fatal
  const DataSource source = open_data(data_settings(choice), 1, {.size_if_unequal = kAnySize});
  Counter counter("looking at", "images", arguments.json);
  const Inspection found =
      inspect(source, arguments.threads, [&](std::size_t done, std::size_t all) { counter.show(done, all); });
  counter.clear();
  if (arguments.json) {
    answer_json(to_json(source, found));
  } else {
    print(source, found);
  }
  if (!arguments.sheet.empty()) {
    constexpr int kRows = 25, kColumns = 12;
    const std::vector<std::uint8_t> picture = encode_png(contact_sheet(source, kRows, kColumns));
    write_file(arguments.sheet, {reinterpret_cast<const char*>(picture.data()), picture.size()});
    if (!arguments.json) answer("  sheet      {}\n", arguments.sheet);
  }
  if (found.damaged > 0)
    throw RunError(fmt::format("{} of the samples of {} are damaged", found.damaged, source.name));
}

}  // namespace

void add_data_inspect(CLI::App& data) {
  auto arguments = std::make_shared<InspectArguments>();
  arguments->threads = usable_cores();
  CLI::App* command = data.add_subcommand("inspect", "Check every sample: counts, sizes, means, damage");
  command->add_option("SET", arguments->of.path_or_name, "a folder, a file, or the name of a set")
      ->type_name("SET")
      ->required();
  command->add_option("--sheet", arguments->sheet, "write a contact sheet with some images of each class")
      ->type_name("FILE.png");
  command->add_option("--size", arguments->size, "size of the images on the sheet, in pixels")
      ->check(CLI::Range(1, 1024));
  command->add_option("--folder", arguments->of.folder, "folder of fetched sets")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--threads", arguments->threads)->check(CLI::Range(1, 256))->capture_default_str();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command->callback([arguments] { run_inspect(*arguments); });
}

}  // namespace veche::cli
