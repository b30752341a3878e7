// `veche examples`: lists the examples that are installed, and copies one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/terminal/output.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string name, sentence;
};

// Beside the program, in the build tree and when installed: PREFIX/bin/veche and
// PREFIX/share/veche/examples.
fs::path examples_folder() {
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  return prefix / VECHE_DATA_FOLDER / "veche" / "examples";
}

// index.tsv has a line for each: a name, a tab, a sentence.
std::vector<Example> read_index() {
  const fs::path file = examples_folder() / "index.tsv";
  std::ifstream lines(file);
  if (!lines)
    throw RequestError(fmt::format("the examples are not installed: {} cannot be read", file.string()));
  std::vector<Example> examples;
  for (std::string line; std::getline(lines, line);)
    if (const auto tab = line.find('\t'); tab != std::string::npos)
      examples.push_back({line.substr(0, tab), line.substr(tab + 1)});
  return examples;
}

// The files of an example: those of its folder, or its only one.
std::vector<fs::path> files_of(const std::string& name, fs::path& root) {
  root = examples_folder() / name;
  if (!fs::is_directory(root)) {
    root = examples_folder();
    return {root / (name + ".toml")};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && entry.path().parent_path().filename() != "__pycache__")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

void copy_example(const std::string& name, const fs::path& to) {
  std::vector<std::string> names;
  for (const Example& each : read_index()) names.push_back(each.name);
  if (std::ranges::count(names, name) == 0)
    throw RequestError(fmt::format("there is no example '{}'{}", name, suggestion(name, names)));
  fs::path root;
  const std::vector<fs::path> files = files_of(name, root);
  for (const fs::path& file : files)  // all are checked before the first one is written
    if (const fs::path copy = to / file.lexically_relative(root); fs::exists(fs::symlink_status(copy)))
      throw RequestError(fmt::format("'{}' exists already: name another folder", copy.string()));
  for (const fs::path& file : files) {
    const fs::path copy = to / file.lexically_relative(root);
    fs::create_directories(copy.parent_path());
    fs::copy_file(file, copy);
    answer("{}\n", copy.string());
  }
}

void list(bool json) {
  const std::vector<Example> examples = read_index();
  if (json) {
    auto all = nlohmann::ordered_json::array();
    for (const Example& each : examples) all.push_back({{"name", each.name}, {"what", each.sentence}});
    return answer_json(all);
  }
  for (const Example& each : examples) answer("{:<16} {}\n", each.name, each.sentence);
}

}  // namespace

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  try {
    for (const Example& each : read_index()) names.push_back(each.name);
  } catch (const RequestError&) {  // not installed: nothing to complete
  }
  return names;
}

void add_examples(CLI::App& app) {
  struct Arguments {
    std::string name, folder;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("examples", "List the examples, or copy one");
  command->add_option("NAME", arguments->name, "the example to copy")->type_name("EXAMPLE");
  command->add_option("FOLDER", arguments->folder, "where to; its own name unless given")->type_name("DIR");
  command->add_flag("--json", arguments->json, "the list as a JSON array");
  command->callback([arguments] {
    if (arguments->name.empty()) return list(arguments->json);
    copy_example(arguments->name, arguments->folder.empty() ? arguments->name : arguments->folder);
  });
}

}  // namespace veche::cli
