#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/data/data_commands.h"
#include "cli/data/data_options.h"
#include "cli/data/inspect_table.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/files/files.h"
#include "veche/base/machine/cores.h"
#include "veche/data/sets/inspect.h"
#include "veche/data/sets/open.h"
#include "veche/data/sets/source.h"
#include "veche/data/text/open_text.h"
#include "veche/errors.h"

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

// Of a vocabulary that fits on a screen.
std::string symbols_of(const Tokenizer& tokenizer) {
  constexpr int kMostShown = 200;
  std::string text;
  if (tokenizer.kind() == TokenizerKind::characters && tokenizer.size() <= kMostShown)
    text = nlohmann::json(tokenizer.content()).dump();
  return text;
}

void run_inspect_text(const InspectArguments& arguments, const DataChoice& choice) {
  if (!arguments.sheet.empty()) throw RequestError("--sheet is for sets of images, and this is a text");
  TextRequest request = text_request(data_settings(choice), {choice.path_or_name});
  request.kept.clear();  // looking leaves nothing behind
  const auto file = pack_texts(request).front();
  const TokenFacts& facts = file->facts();
  const Tokenizer& tokenizer = *file->tokenizer();
  const std::uint64_t characters = facts.train_characters + facts.test_characters;
  const double each = static_cast<double>(characters) / static_cast<double>(facts.train + facts.test);
  const std::uint64_t damaged = std::max(request.policy.log->count(), facts.left_out);
  if (arguments.json) {
    answer_json(nlohmann::ordered_json{{"name", choice.path_or_name},
                                       {"kind", "text"},
                                       {"tokenizer", word_of(tokenizer.kind())},
                                       {"symbols", tokenizer.size()},
                                       {"train", facts.train},
                                       {"test", facts.test},
                                       {"characters", characters},
                                       {"characters_per_token", each},
                                       {"damaged", damaged},
                                       {"damage", request.policy.log->sentences()}});
  } else {
    answer("{}: a text\n", choice.path_or_name);
    answer("  tokens      {} to train, {} to test ({})\n", with_commas(facts.train), with_commas(facts.test),
           word_of(tokenizer.kind()));
    answer("  characters  {}, {:.3f} per token\n", with_commas(characters), each);
    answer("  symbols     {}{}\n", with_commas(static_cast<std::uint64_t>(tokenizer.size())),
           symbols_of(tokenizer).empty() ? "" : ": " + symbols_of(tokenizer));
    for (const std::string& sentence : request.policy.log->sentences()) answer("  {}\n", one_line(sentence));
  }
  if (damaged > 0)
    throw RunError(fmt::format("{} bytes or symbols of {} are broken", damaged, choice.path_or_name));
}

void run_inspect(const InspectArguments& arguments) {
  if (recognise(arguments.of.path_or_name) == Kind::table)
    return inspect_table(arguments.of.path_or_name, arguments.threads, arguments.json);
  constexpr int kAnySize = 64;  // tile size on a sheet if image sizes differ
  DataChoice choice = arguments.of;
  choice.size = arguments.size;
  choice.skip_damaged = true;  // damage is reported, not fatal
  if (is_text(choice)) return run_inspect_text(arguments, choice);
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
  command->add_option("--tokenizer", arguments->of.tokenizer,
                      "the set is a text, in these tokens: characters, bytes, sentencepiece:FILE or "
                      "sentencepiece:train:VOCAB");
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
