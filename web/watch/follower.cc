#include "web/watch/follower.h"

#include <cmath>

#include "veche/base/files/read_text.h"
#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"
#include "web/watch/columns.h"

namespace veche::web {
namespace {

constexpr std::uintmax_t kMostConfigText = 16U << 20U;
constexpr std::size_t kMostNodesText = 1U << 20U;

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
  read_measurement(line, measurements_.empty() ? nullptr : &measurements_.back(), before, at, nodes);
  task_ = task_in(line);
  marks_.add(at, before, nodes, main_measure(task_).up);
  if (const auto why = line.find("stopped"); why != line.end() && why->is_string())
    stopped_ = why->get<std::string>();
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
  nlohmann::json nodes = nlohmann::json::array();
  for (const auto& node : json["nodes"]) {
    nlohmann::json row{{"to", nlohmann::json::array()}};
    for (const auto& [key, from] :
         {std::pair("steps", "steps"), std::pair("computing", "compute_seconds"),
          std::pair("waiting", "waiting_seconds"), std::pair("communicating", "communication_seconds"),
          std::pair("bytes", "bytes_sent"), std::pair("staleness", "staleness")})
      row[key] = shown(value_of(node, from));
    if (node.is_object() && node.contains("to") && node["to"].is_array())
      for (const auto& to : node["to"])
        if (to.is_array() && to.size() == 2 && to[0].is_number_unsigned() && to[1].is_number())
          row["to"].push_back({to[0], shown(to[1].get<double>())});
    nodes.push_back(std::move(row));
  }
  now_ = {{"step", value_of(json, "step")}, {"nodes", std::move(nodes)}};
  ++now_version_;
}

}  // namespace veche::web
