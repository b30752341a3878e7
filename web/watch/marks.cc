#include "web/watch/marks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ranges>
#include <string_view>

namespace veche::web {
namespace {

constexpr std::size_t kMostMarks = 500;  // nodes that come and go all the time would fill any page

// The step in "step-1234"; -1 for another name.
double step_of(const std::string& name) {
  constexpr std::string_view kBefore = "step-";
  std::uint64_t step = 0;
  if (!name.starts_with(kBefore)) return -1;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kBefore.size(), end, step);
  return read.ec == std::errc{} && read.ptr == end ? static_cast<double>(step) : -1;
}

}  // namespace

void Marks::add(const Measurement& now, std::span<const NodeAt> before, std::span<const NodeAt> nodes,
                bool up) {
  const auto mark = [&](const char* kind, double value, bool gone = false) {
    if (marks_.size() < kMostMarks) marks_.push_back({kind, now.step, now.seconds, value, gone});
  };
  const auto was_there = [&](std::size_t i) { return i < before.size() && before[i].present; };
  const auto is_there = [&](std::size_t i) { return i < nodes.size() && nodes[i].present; };
  const std::size_t places = std::max(before.size(), nodes.size());
  const auto all = std::views::iota(std::size_t{0}, places);
  if (!before.empty()) {
    if (std::ranges::any_of(all, [&](std::size_t i) { return was_there(i) != is_there(i); }))
      mark("view", static_cast<double>(std::ranges::count_if(all, is_there)));
    for (const std::size_t i : all) {
      const auto place = static_cast<double>(i);
      if (was_there(i) && !is_there(i)) {
        if (standing_.insert(place).second) mark("lost", place, true);
      } else if (is_there(i) && !was_there(i)) {
        mark(standing_.erase(place) > 0 ? "back" : "joined", place);
      } else if (stands(before, nodes, i)) {
        if (standing_.insert(place).second) mark("lost", place);
      } else if (is_there(i) && nodes[i].steps > before[i].steps && standing_.erase(place) > 0) {
        mark("back", place);
      }
    }
  }
  const auto is_best = [&] {
    return best_.empty() || (up ? now.accuracy > best_.back().value : now.accuracy < best_.back().value);
  };
  if (std::isfinite(now.accuracy) && is_best())
    best_.push_back({"best", now.step, now.seconds, now.accuracy});
}

void Marks::forget_from(double step) {
  const auto later = [&](const Mark& mark) { return mark.step >= step; };
  std::erase_if(best_, later);
  if (std::erase_if(marks_, later) == 0) return;
  standing_.clear();
  for (const Mark& mark : marks_) {
    if (mark.kind == "lost") standing_.insert(mark.value);
    if (mark.kind == "back" || mark.kind == "joined") standing_.erase(mark.value);
  }
}

void Marks::look_for_checkpoints(const std::filesystem::path& folder) {
  checkpoints_.clear();
  std::error_code unknown;
  for (std::filesystem::directory_iterator at(folder / "checkpoint", unknown), end; !unknown && at != end;
       at.increment(unknown))
    if (const double step = step_of(at->path().filename().string()); step >= 0) checkpoints_.push_back(step);
}

nlohmann::json Marks::json(bool ended, const std::string& stopped, const Measurement* last) const {
  std::vector<Mark> all = marks_;
  if (!best_.empty()) all.push_back(best_.back());
  for (const double step : checkpoints_) all.push_back({"checkpoint", step, -1, 0});
  std::ranges::stable_sort(all, {}, &Mark::step);
  nlohmann::json json = nlohmann::json::array();
  for (const Mark& mark : all) {
    nlohmann::json row{{"kind", mark.kind}, {"step", mark.step}};
    if (mark.seconds >= 0) row["seconds"] = mark.seconds;
    if (mark.kind == "best")
      row["value"] = mark.value;
    else if (mark.kind == "view")
      row["nodes"] = mark.value;
    else if (mark.kind != "checkpoint")
      row["node"] = mark.value;
    if (mark.gone) row["gone"] = true;
    json.push_back(std::move(row));
  }
  if (ended && last != nullptr)
    json.push_back({{"kind", "end"}, {"step", last->step}, {"seconds", last->seconds}, {"why", stopped}});
  return json;
}

}  // namespace veche::web
