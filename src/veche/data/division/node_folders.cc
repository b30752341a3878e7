#include "veche/data/division/node_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "veche/data/sets/joined_set.h"
#include "veche/data/table/open_table.h"
#include "veche/data/text/open_text.h"
#include "veche/data/text/text_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

bool digit(char c) { return c >= '0' && c <= '9'; }

// Natural order: node2 before node10.
bool before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (digit(a[0]) && digit(b[0])) {
      const auto number = [](std::string_view& text) {
        std::size_t end = 0;
        while (end < text.size() && digit(text[end])) ++end;
        std::string_view digits = text.substr(0, end);
        text.remove_prefix(end);
        digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
        return digits;
      };
      const std::string_view left = number(a), right = number(b);
      if (left != right) return left.size() != right.size() ? left.size() < right.size() : left < right;
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

std::vector<std::string> paths_of(const DataPath& given, int nodes) {
  constexpr const char* kForms =
      "data.partition = \"folders\" needs data.path: a list of one path a node, or a folder with one folder "
      "a node";
  if (given.empty()) throw RequestError(kForms);
  std::vector<std::string> paths = given.per_node;
  if (paths.empty()) {
    const std::string& folder = given.one;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (!entry.path().filename().string().starts_with('.')) paths.push_back(entry.path().string());
    if (error) throw RequestError(fmt::format("{}; '{}' is no folder that can be read", kForms, folder));
    std::ranges::sort(paths, before);
  }
  if (paths.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("data.path gives {} folders to {} nodes with data; there must be one each",
                                   paths.size(), nodes));
  return paths;
}

std::vector<std::string> all_class_names(const std::vector<DataSource>& sources) {
  std::set<std::string> names;
  for (const DataSource& source : sources) names.insert(source.class_names.begin(), source.class_names.end());
  return {names.begin(), names.end()};
}

// Matches classes by name if there are names; otherwise a class has the same number everywhere.
std::vector<std::int64_t> labels_in(const std::vector<std::string>& names, const DataSource& source) {
  std::vector<std::int64_t> labels;
  for (int own = 0; own < source.train->classes(); ++own) {
    const auto name = names.empty()
                          ? names.end()
                          : std::ranges::find(names, source.class_names[static_cast<std::size_t>(own)]);
    labels.push_back(names.empty() ? own : name - names.begin());
  }
  return labels;
}

// Tables get one scheme, from the sums of each.
std::shared_ptr<const TableScheme> agree_on_scheme(std::vector<DataSource>& sources,
                                                   const std::vector<std::string>& paths,
                                                   const DataSettings& settings) {
  std::vector<TableSums> sums;
  for (const DataSource& source : sources)
    if (auto of_site = sums_of(source)) sums.push_back(std::move(*of_site));
  if (sums.size() < sources.size()) return nullptr;
  auto scheme = std::make_shared<const TableScheme>(agree(sums, paths));
  for (DataSource& source : sources) set_scheme(source, scheme, settings);
  return scheme;
}

void check_fit(const std::vector<DataSource>& sources, const std::vector<std::string>& paths) {
  const DataSource& first = sources.front();
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const Shape a = first.train->shape(), b = sources[i].train->shape();
    if (a != b)
      throw RequestError(fmt::format("the samples in '{}' are {}x{}x{} and those in '{}' {}x{}x{}", paths[0],
                                     a.channels, a.height, a.width, paths[i], b.channels, b.height, b.width));
    if (first.train->task() != sources[i].train->task())
      throw RequestError(fmt::format("the targets in '{}' are {} and those in '{}' {}", paths[0],
                                     targets_of(first.train->task()), paths[i],
                                     targets_of(sources[i].train->task())));
    if (first.class_names.empty() != sources[i].class_names.empty())
      throw RequestError(fmt::format("of '{}' and '{}' one has names for its classes and the other has not",
                                     paths[0], paths[i]));
  }
}

// All nodes' texts are read by one vocabulary.
NodeFolders open_texts_of_nodes(const DataSettings& settings, const std::vector<std::string>& paths,
                                const OpenOptions& how) {
  NodeFolders result{.source = open_text(settings, paths, how.context), .ends = {}};
  result.source.name = fmt::format("{} in {} folders", result.source.name, paths.size());
  const auto& train = static_cast<const TextSet&>(*result.source.train);
  std::size_t end = 0;
  for (std::size_t node = 0; node < paths.size(); ++node) result.ends.push_back(end += train.windows(node));
  return result;
}

}  // namespace

std::size_t NodeFolders::owner(std::size_t sample) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, sample) - ends.begin());
}

NodeFolders open_node_folders(const DataSettings& settings, std::uint64_t seed, int nodes, OpenOptions how) {
  const std::vector<std::string> paths = paths_of(settings.path, nodes);
  if (is_text(settings)) return open_texts_of_nodes(settings, paths, how);
  std::vector<DataSource> sources;
  how.scheme_follows = how.scheme == nullptr;
  for (const std::string& path : paths) {
    DataSettings own = settings;
    own.path = {path};
    own.keys.set("path", {path});
    sources.push_back(open_data(own, seed, how));
  }
  const auto scheme = how.scheme ? how.scheme : agree_on_scheme(sources, paths, settings);
  check_fit(sources, paths);

  NodeFolders result;
  result.source.name = fmt::format("{} in {} folders", sources.front().name, nodes);
  result.source.augment = sources.front().augment;
  result.source.class_names = scheme ? sources.front().class_names : all_class_names(sources);
  result.source.class_weights = sources.front().class_weights;
  result.source.scheme = scheme;
  auto classes = static_cast<int>(result.source.class_names.size());
  if (classes == 0)
    for (const DataSource& source : sources) classes = std::max(classes, source.train->classes());
  std::vector<JoinedPart> train, test;
  for (const DataSource& source : sources) {
    const std::vector<std::int64_t> labels = labels_in(result.source.class_names, source);
    train.push_back({source.train, labels});
    if (source.test) test.push_back({source.test, labels});
    result.source.damage.insert(result.source.damage.end(), source.damage.begin(), source.damage.end());
    result.ends.push_back((result.ends.empty() ? 0 : result.ends.back()) + source.train->size());
  }
  result.source.train = join(std::move(train), classes);
  if (!test.empty()) result.source.test = join(std::move(test), classes);
  return result;
}

}  // namespace veche
