#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/data/data_commands.h"
#include "cli/data/data_options.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "veche/data/formats/pack/pack.h"
#include "veche/data/text/open_text.h"

namespace veche::cli {
namespace {

struct PackArguments {
  DataChoice from;
  std::string out;
  std::string bad = "refuse";
  int shard_megabytes = 256;
  bool json = false;
  PackOptions options;
};

void run_pack_text(const PackArguments& arguments) {
  const TextRequest request = text_request(data_settings(arguments.from), {arguments.from.path_or_name});
  pack_text(request, arguments.out);
  const TokenFacts facts = TokenFile::open(arguments.out)->facts();
  const auto size = static_cast<double>(std::filesystem::file_size(arguments.out));
  for (const std::string& sentence : request.policy.log->sentences()) tell("note: {}\n", one_line(sentence));
  if (arguments.json)
    answer_json(nlohmann::ordered_json{{"out", arguments.out},
                                       {"train", facts.train},
                                       {"test", facts.test},
                                       {"bytes", static_cast<std::uint64_t>(size)},
                                       {"damaged", facts.left_out}});
  else
    answer("{}: {} tokens to train and {} to test, {}\n", arguments.out, with_commas(facts.train),
           with_commas(facts.test), bytes(size));
}

void run_pack(PackArguments& arguments) {
  PackOptions& options = arguments.options;
  arguments.from.skip_damaged = arguments.bad == "skip";
  if (is_text(arguments.from)) return run_pack_text(arguments);
  options.bad = arguments.from.skip_damaged ? OnDamage::skip : OnDamage::refuse;
  options.shard_bytes = static_cast<std::uint64_t>(arguments.shard_megabytes) << 20;
  arguments.from.size = options.decode ? options.resize : 0;
  constexpr int kAnySize = 32;  // files that are kept may differ in size
  const DataSource source =
      open_data(data_settings(arguments.from), 1, {.size_if_unequal = options.decode ? 0 : kAnySize});
  tell_notes(source);
  Counter counter("packing", "images", arguments.json);
  options.progress = [&](std::size_t done, std::size_t all) { counter.show(done, all); };
  const PackResult result = pack(source, arguments.out, options);
  counter.clear();
  if (arguments.json) {
    const nlohmann::ordered_json json{{"out", arguments.out},      {"train", result.train},
                                      {"test", result.test},       {"bytes", result.bytes},
                                      {"damaged", result.damaged}, {"damage", result.damage}};
    answer_json(json);
    return;
  }
  answer("{}: {} training and {} test images, {}\n", arguments.out, with_commas(result.train),
         with_commas(result.test), bytes(static_cast<double>(result.bytes)));
  if (result.damaged > 0) answer("{} damaged images were left out:\n", with_commas(result.damaged));
  for (const std::string& sentence : result.damage) answer("  {}\n", sentence);
}

}  // namespace

void add_data_pack(CLI::App& data) {
  auto arguments = std::make_shared<PackArguments>();
  CLI::App* command =
      data.add_subcommand("pack", "Pack many small files into a few large ones for fast random access");
  command->add_option("FROM", arguments->from.path_or_name, "a folder, an archive, or the name of a set")
      ->type_name("SET")
      ->required();
  command->add_option("OUT", arguments->out, "the folder to create")->type_name("DIR")->required();
  command->add_flag("--decode", arguments->options.decode,
                    "store decoded pixels: larger, but nothing to decode later");
  command
      ->add_option("--resize", arguments->options.resize,
                   "resize the shorter side to this many pixels; decoded images become square")
      ->check(CLI::Range(1, 4096));
  command->add_option("--quality", arguments->options.quality, "JPEG quality of resized images")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  arguments->options.threads = usable_cores();
  command->add_option("--threads", arguments->options.threads)
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--shard-size", arguments->shard_megabytes, "size of one shard in megabytes")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--bad", arguments->bad, "damaged images: refuse the set, or skip them")
      ->check(CLI::IsMember({"refuse", "skip"}))
      ->capture_default_str();
  command->add_option("--tokenizer", arguments->from.tokenizer,
                      "the set is a text: OUT becomes one file of these tokens: characters, bytes, "
                      "sentencepiece:FILE or sentencepiece:train:VOCAB");
  command->add_option("--folder", arguments->from.folder, "folder of fetched sets")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command->callback([arguments] { run_pack(*arguments); });
}

}  // namespace veche::cli
