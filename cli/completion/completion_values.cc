#include "cli/completion/completion_values.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "cli/commands.h"
#include "veche/data/fetch/fetch.h"
#include "veche/data/sets/source.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/weights/mixing.h"
#include "veche/model/zoo.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/registry.h"

namespace veche::cli {
namespace {

using Words = std::vector<std::string>;

Words copied(std::span<const std::string> words) { return {words.begin(), words.end()}; }

Words strategy_names() {
  Words names;
  for (const StrategyInfo& info : strategies()) names.push_back(info.name);
  return names;
}

Words public_set_names() {
  Words names;
  for (const PublicSet& set : public_sets()) names.push_back(set.name);
  return names;
}

// The strategy on the command line, or "".
std::string chosen_strategy(std::span<const std::string> line) {
  constexpr std::string_view kKey = "strategy.name=";
  std::string name;
  for (const std::string& word : line)
    if (const auto at = word.find(kKey); at == 0 || word.starts_with("--set=strategy.name="))
      name = word.substr(at + kKey.size());
  return name;
}

struct Key {
  std::string name;  // including its section
  KeySpec spec;
  std::function<Words()> words = {};  // where the set of values is open
};

// All keys; strategy keys only of the strategy on the command line, if there is one.
std::vector<Key> all_keys(std::span<const std::string> line) {
  std::vector<Key> keys;
  for (const SectionSpec& section : sections())
    for (const SectionKey& key : section.keys)
      keys.push_back({section.name + "." + key.name, key, key.words});
  keys.push_back(
      {"strategy.name", {.name = "name", .fallback = {}, .help = "how the nodes agree"}, strategy_names});
  const std::string chosen = chosen_strategy(line);
  const bool known = std::ranges::find(strategies(), chosen, &StrategyInfo::name) != strategies().end();
  for (const StrategyInfo& info : strategies())
    if (!known || info.name == chosen)
      for (const KeySpec& key : info.keys) keys.push_back({"strategy." + key.name, key});
  return keys;
}

Words notes_of(const std::string& key, std::span<const std::string> line) {
  Words words;
  for (const Key& known : all_keys(line))
    if (known.name == key) {
      const Words open = known.words ? known.words() : known.spec.choices;
      words.insert(words.end(), open.begin(), open.end());
      if (known.spec.kind == KeySpec::Kind::flag) words.insert(words.end(), {"true", "false"});
    }
  return words;
}

bool is_path(const std::string& key, std::span<const std::string> line) {
  return std::ranges::any_of(all_keys(line),
                             [&](const Key& known) { return known.name == key && known.spec.is_path; });
}

std::vector<Candidate> assignments(const std::string& typed, std::span<const std::string> line) {
  std::vector<Candidate> found;
  const auto equals = typed.find('=');
  if (equals == std::string::npos) {
    for (const Key& key : all_keys(line)) found.push_back({key.name + "=", key.spec.help});
    return found;
  }
  const std::string key = typed.substr(0, equals);
  for (const std::string& word : notes_of(key, line)) found.push_back({key + "=" + word});
  if (is_path(key, line)) found.push_back({std::string(kFiles), typed.substr(equals + 1)});
  return found;
}

// The argument of --compare: the same keys, or `strategy` and `compress`, with values separated by
// commas.
std::vector<Candidate> variants(const std::string& typed, std::span<const std::string> line) {
  const auto equals = typed.find('=');
  if (equals == std::string::npos) {
    std::vector<Candidate> found = assignments(typed, line);
    found.push_back({"strategy=", "strategies, with commas between them"});
    found.push_back({"compress=", "codecs, with commas between them"});
    return found;
  }
  std::string key = typed.substr(0, equals);
  if (key == "strategy") key = "strategy.name";
  if (key == "compress") key = "compress.codec";
  const std::string before = typed.substr(0, typed.find_last_of("=,") + 1);
  std::vector<Candidate> found;
  for (const std::string& word : notes_of(key, line)) found.push_back({before + word});
  return found;
}

// Run folders in the folder being typed, or in runs/.
std::vector<Candidate> run_folders(const std::string& typed) {
  namespace fs = std::filesystem;
  const auto slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "runs/" : typed.substr(0, slash + 1);
  std::vector<Candidate> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::error_code none; fs::exists(at->path() / "config.toml", none))
      found.push_back({folder + at->path().filename().string()});
  std::erase_if(found, [&](const Candidate& run) { return !run.word.starts_with(typed); });
  std::ranges::sort(found, {}, &Candidate::word);
  if (found.empty()) found.push_back({std::string(kFolders), typed});
  return found;
}

std::vector<Candidate> plain(const Words& words) {
  std::vector<Candidate> found;
  for (const std::string& word : words) found.push_back({word});
  return found;
}

// The values in "TEXT:{time,parameters}", the type name of an option with a closed list.
Words in_braces(std::string_view type) {
  const auto from = type.find('{'), to = type.rfind('}');
  if (from == std::string_view::npos || to == std::string_view::npos) return {};
  Words words{""};
  for (const char sign : type.substr(from + 1, to - from - 1))
    if (sign == ',')
      words.emplace_back();
    else
      words.back() += sign;
  return words;
}

std::vector<Candidate> of_type(std::string_view type, const std::string& typed,
                               std::span<const std::string> line) {
  if (type.starts_with("FILE")) return {{std::string(kFiles), typed}};
  if (type == "DIR") return {{std::string(kFolders), typed}};
  if (type == "RUN") return run_folders(typed);
  if (type == "PLACE") {  // a run, or a file of weights
    std::vector<Candidate> found = run_folders(typed);
    if (found.front().word == kFolders) found = {{std::string(kFiles), typed}};
    return found;
  }
  if (type == "KEY=VALUE") return assignments(typed, line);
  if (type == "VARIANTS") return variants(typed, line);
  if (type == "GRAPH") return plain(copied(spec_families()));
  if (type == "RULE") return plain(copied(weight_rules()));
  if (type == "MODEL") return plain(model_names());
  if (type == "EXAMPLE") return plain(example_names());
  if (type == "BENCH") return plain(bench_names());
  if (type == "KNOWN-SET") return plain(public_set_names());
  if (type == "SET") {
    std::vector<Candidate> found = plain(data_names());
    found.push_back({std::string(kFiles), typed});
    return found;
  }
  return plain(in_braces(type));
}

}  // namespace

std::vector<Candidate> value_candidates(std::string_view type, const std::string& typed,
                                        std::span<const std::string> line) {
  std::vector<Candidate> found = of_type(type, typed, line);
  std::erase_if(found, [&](const Candidate& each) {
    return !each.word.starts_with('@') && !each.word.starts_with(typed);
  });
  return found;
}

}  // namespace veche::cli
