#include "web/watch/follower.h"

#include <cmath>

#include "veche/base/files/read_text.h"
#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"
#include "web/watch/columns.h"

namespace veche::web {
namespace {

constexpr std::uintmax_t kMostConfigText = 16U << 20U;
constexpr std::size_t kMostNodesText = 1U << 20U, kMostLayoutText = 16U << 20U;

// The parameters of the model, by the run's layout.json; null before it is there.
nlohmann::json parameters_in(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder / "layout.json", unknown)) return nullptr;
  const auto layout =
      nlohmann::json::parse(piece_of(folder / "layout.json", 0, kMostLayoutText), nullptr, false);
  if (!layout.is_object() || !layout.contains("parameters") || !layout["parameters"].is_array())
    return nullptr;
  std::uint64_t count = 0;
  for (const auto& tensor : layout["parameters"]) {
    if (!tensor.is_object() || !tensor.contains("shape") || !tensor["shape"].is_array()) return nullptr;
    std::uint64_t size = 1;
    for (const auto& side : tensor["shape"])
      size *= side.is_number_unsigned() ? side.get<std::uint64_t>() : 0;
    count += size;
  }
  return count;
}

}  // namespace

RunFollower::RunFollower(const std::filesystem::path& folder)
    : folder_(folder),
      metrics_file_(folder / "metrics.jsonl"),
      progress_file_(folder / "progress.jsonl"),
      samples_file_(folder / "samples.jsonl") {
  if (!std::filesystem::exists(folder / "config.toml"))
    throw RequestError(folder.string() + " is not a run's folder: it has no config.toml");
  name_ =
      std::filesystem::weakly_canonical(std::filesystem::path(folder / "").parent_path()).filename().string();
  config_ = read_text(folder / "config.toml", (folder / "config.toml").string(), kMostConfigText);
  poll();
}

bool RunFollower::poll() {
  const auto before = std::tuple(progress_version_, nodes_version_, now_version_, ended_);
  std::vector<std::string> lines;
  if (metrics_file_.read(lines)) {  // a resumed run rewrites the file
    measurements_.clear();
    nodes_.clear();
    places_ = {};
    views_.clear();
    marks_ = {};
    ++nodes_version_;
  }
  for (const std::string& line : lines)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.is_object())
      take_measurement(json);
  if (progress_file_.read(lines)) progress_.clear();
  for (const std::string& line : lines)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.is_object()) take_progress(json);
  if (samples_file_.read(lines)) sample_ = nullptr;
  for (const std::string& line : lines)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.is_object()) take_sample(json);
  if (parameters_.is_null()) parameters_ = parameters_in(folder_);
  std::error_code unknown;
  ended_ = std::filesystem::exists(folder_ / "summary.json", unknown);
  take_nodes();
  const bool changed = before != std::tuple(progress_version_, nodes_version_, now_version_, ended_);
  if (changed) marks_.look_for_checkpoints(folder_);
  return changed;
}

void RunFollower::take_measurement(const nlohmann::json& line) {
  const double step = value_of(line, "step");
  if (!std::isfinite(step)) return;
  while (!measurements_.empty() && measurements_.back().step >= step) {  // measured again
    measurements_.pop_back();
    nodes_.pop_back();
  }
  marks_.forget_from(step);
  const std::span<const NodeAt> before = nodes_.empty() ? std::span<const NodeAt>() : nodes_.back();
  Measurement at{};
  std::vector<NodeAt> nodes;
  read_measurement(line, measurements_.empty() ? nullptr : &measurements_.back(), before, places_, at, nodes);
  task_ = task_in(line);
  marks_.add(at, before, nodes, main_measure(task_).up);
  if (const auto why = line.find("stopped"); why != line.end() && why->is_string())
    stopped_ = why->get<std::string>();
  std::vector<std::size_t> seats;
  if (const auto list = line.find("nodes"); list != line.end() && list->is_array()) seats = places_.of(*list);
  take_seats(step, std::move(seats));
  measurements_.push_back(at);
  nodes_.push_back(std::move(nodes));
  ++nodes_version_;
  ++progress_version_;
}

void RunFollower::take_progress(const nlohmann::json& line) {
  const Going at = read_progress(line);
  if (!std::isfinite(at.step)) return;
  while (!progress_.empty() && progress_.back().step >= at.step) progress_.pop_back();  // the run was resumed
  progress_.push_back(at);
  ++progress_version_;
}

void RunFollower::take_sample(const nlohmann::json& line) {
  const double step = value_of(line, "step");
  const auto text = line.find("text");
  if (!std::isfinite(step) || text == line.end() || !text->is_string()) return;
  sample_ = {{"step", step}, {"text", *text}};
  ++progress_version_;
}

// The nodes that take part from this step on, as far as is known.
void RunFollower::take_seats(double step, std::vector<std::size_t> seats) {
  while (!views_.empty() && views_.back().step > step) views_.pop_back();  // measured again
  if (seats.empty() || (!views_.empty() && views_.back().places == seats)) return;
  views_.push_back({step, std::move(seats)});
  ++graph_version_;
}

// nodes.json is small and rewritten as a whole; if it is replaced during the read, read it next
// time.
void RunFollower::take_nodes() {
  std::error_code unknown;
  const auto written = std::filesystem::last_write_time(folder_ / "nodes.json", unknown);
  if (unknown || written == now_written_) return;
  now_written_ = written;
  const auto json =
      nlohmann::json::parse(piece_of(folder_ / "nodes.json", 0, kMostNodesText + 1), nullptr, false);
  if (!json.is_object() || !std::isfinite(value_of(json, "step")) || !json.contains("nodes") ||
      !json["nodes"].is_array())
    return;
  const double step = value_of(json, "step");
  const std::vector<std::size_t> seats = places_.of(json["nodes"]);
  if (measurements_.empty() || step >= measurements_.back().step) take_seats(step, seats);
  nlohmann::json nodes = nlohmann::json::array();
  for (std::size_t place = 0; place < places_.count(); ++place)
    nodes.push_back({{"to", nlohmann::json::array()}});
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    const nlohmann::json& node = json["nodes"][seat];
    nlohmann::json& row = nodes[seats[seat]];
    for (const auto& [key, from] :
         {std::pair("steps", "steps"), std::pair("computing", "compute_seconds"),
          std::pair("waiting", "waiting_seconds"), std::pair("communicating", "communication_seconds"),
          std::pair("bytes", "bytes_sent"), std::pair("staleness", "staleness")})
      row[key] = shown(value_of(node, from));
    if (node.is_object() && node.contains("to") && node["to"].is_array())
      for (const auto& to : node["to"])
        if (to.is_array() && to.size() == 2 && to[0].is_number_unsigned() && to[1].is_number() &&
            to[0].get<std::size_t>() < seats.size())
          row["to"].push_back({seats[to[0].get<std::size_t>()], shown(to[1].get<double>())});
  }
  now_ = {{"step", step}, {"nodes", std::move(nodes)}};
  ++now_version_;
}

}  // namespace veche::web
