#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/data/data_commands.h"
#include "cli/terminal/counter.h"
#include "cli/terminal/output.h"
#include "veche/base/files/read_text.h"
#include "veche/data/fetch/fetch.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

struct FetchArguments {
  std::string name;
  std::string folder = "data";
  std::string from;
  std::string sums;
  bool json = false;
};

// Reads lines of "MD5  NAME", as written by md5sum.
std::map<std::string, std::string> read_sums(const std::string& file) {
  std::map<std::string, std::string> sums;
  constexpr std::uintmax_t kMostBytes = 16 << 20;
  std::istringstream in(read_text(file, fmt::format("'{}'", file), kMostBytes));
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  for (std::string digest, name; in >> digest >> name;) {
    if (digest.size() != 32 || !std::ranges::all_of(digest, is_digit))
      throw RequestError(
          fmt::format("'{}' holds '{}' where md5sum writes 32 hexadecimal digits", file, digest));
    sums[name.starts_with('*') ? name.substr(1) : name] = digest;
  }
  if (sums.empty()) throw RequestError(fmt::format("'{}' holds no lines of md5sum", file));
  return sums;
}

void run_fetch(const FetchArguments& arguments) {
  Counter counter("downloading", "bytes", arguments.json);
  FetchOptions options{.folder = arguments.folder, .address = arguments.from, .md5 = {}};
  if (!arguments.sums.empty()) options.md5 = read_sums(arguments.sums);
  options.tell = [&](const std::string& sentence) {
    counter.clear();
    tell("{}\n", sentence);
  };
  options.progress = [&](std::uint64_t done, std::uint64_t all) { counter.show(done, all); };
  const std::string place = fetch(arguments.name, options).string();
  counter.clear();
  if (arguments.json) {
    answer_json(nlohmann::ordered_json{{"name", arguments.name}, {"place", place}});
  } else {
    answer("{} is in {}; data.name = \"{}\" trains on it\n", arguments.name, place, arguments.name);
  }
}

}  // namespace

void add_data_fetch(CLI::App& data) {
  auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command =
      data.add_subcommand("fetch", "Download and verify a public set; resumes an interrupted download");
  std::string names;
  for (const PublicSet& set : public_sets()) names += (names.empty() ? "" : ", ") + set.name;
  command->add_option("NAME", arguments->name, names)->type_name("KNOWN-SET")->required();
  command->add_option("--folder", arguments->folder, "folder for fetched sets")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--from", arguments->from, "download from this mirror instead of the publisher")
      ->type_name("URL");
  command->add_option("--sums", arguments->sums, "the mirror's checksums, in the format of md5sum")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command->callback([arguments] { run_fetch(*arguments); });
}

}  // namespace veche::cli
