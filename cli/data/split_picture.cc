#include "cli/data/split_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/terminal/text.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

constexpr const char* kInk = "#1f3a5f";
constexpr const char* kFill = "#6c8ebf";
constexpr const char* kQuiet = "#5a6572";
constexpr std::size_t kMost = 1000;
constexpr double kLetter = 6.2;  // width of a character at size 11

std::string shortened(const std::string& name) { return name.size() <= 18 ? name : name.substr(0, 17) + "~"; }

}  // namespace

std::uint64_t SplitCounts::samples(std::size_t node) const {
  return std::accumulate(counts[node].begin(), counts[node].end(), std::uint64_t{0});
}

Picture draw_split(const SplitCounts& split, const std::string& title) {
  const std::size_t nodes = split.counts.size(), classes = split.classes.size();
  if (std::max(nodes, classes) > kMost)
    throw RequestError(fmt::format("a picture of {} nodes and {} classes would be a smudge: {} is the most",
                                   nodes, classes, with_commas(kMost)));
  const double step = nodes > 40 || classes > 40 ? 14 : 40;
  const std::size_t every = nodes > 40 ? 10 : 1;  // skips labels that would overlap
  std::uint64_t most = 1;
  std::size_t longest = 5;
  for (const auto& row : split.counts) most = std::max(most, *std::ranges::max_element(row));
  for (const std::string& name : split.classes) longest = std::max(longest, shortened(name).size());

  Picture picture;
  const double left = 20 + kLetter * static_cast<double>(longest) + step / 2, top = 46;
  const auto place = [&](std::size_t node, double row) {
    return Point{left + step * (static_cast<double>(node) + 0.5), top + step * (row + 0.5)};
  };
  for (std::size_t node = 0; node < nodes; ++node) {
    const double radius_of_most = 0.46 * step;
    for (std::size_t label = 0; label < classes; ++label) {
      const auto count = static_cast<double>(split.counts[node][label]);
      if (count == 0) continue;
      const double radius = std::max(0.8, radius_of_most * std::sqrt(count / static_cast<double>(most)));
      picture.discs.push_back({place(node, static_cast<double>(label)), radius, kFill, kInk, 0});
    }
    if (node % every != 0) continue;
    const Point below = place(node, static_cast<double>(classes));
    picture.texts.push_back({{below.x, 30}, std::to_string(node), 11, kInk, true, true});
    picture.texts.push_back({{below.x, below.y}, with_commas(split.samples(node)), 9, kQuiet, true, false});
  }
  picture.texts.push_back({{20, 30}, "node", 11, kQuiet, false, false});
  for (std::size_t label = 0; label<classes; label += classes> 40 ? 10 : 1)
    picture.texts.push_back({{20, place(0, static_cast<double>(label)).y},
                             shortened(split.classes[label]),
                             11,
                             kInk,
                             false,
                             false});
  const double end = top + step * static_cast<double>(classes + 1);
  picture.texts.push_back(
      {{20, place(0, static_cast<double>(classes)).y}, "samples", 9, kQuiet, false, false});
  picture.texts.push_back({{20, end + 16}, title, 11, kQuiet, false, false});
  picture.width = std::max(left + step * static_cast<double>(nodes) + 20,
                           40 + kLetter * static_cast<double>(title.size()));
  picture.height = end + 36;
  return picture;
}

}  // namespace veche::cli
