#include "web/watch/follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "veche/base/files/input_file.h"
#include "veche/base/files/read_text.h"
#include "veche/errors.h"
#include "web/report/records.h"

namespace veche::web {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::uintmax_t kMostConfigText = 16U << 20U;
constexpr std::size_t kMostNodesText = 1U << 20U;
constexpr std::size_t kMostPiece = 8U << 20U;  // bytes read at a time, since others wait meanwhile

double value_of(const nlohmann::json& json, const char* key, const char* inner = nullptr) {
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  if (found == json.end()) return kNothing;
  if (inner != nullptr) return value_of(*found, inner);
  return found->is_number() ? found->get<double>() : kNothing;
}

// Six digits are more than a screen shows; four suffice for a line among dozens. Missing values are
// null.
constexpr int kDigits = 6, kDigitsOfNodes = 4;
nlohmann::json shown(double value, int digits = kDigits) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0 || std::abs(value) > 1e15) return value;
  const double scale = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// At most `most` indices of [0, count), evenly spread, including the last.
std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t taken = std::min(count, most);
  for (std::size_t i = 1; i <= taken; ++i) chosen.push_back(i * count / taken - 1);
  return chosen;
}

template <class Row, class Number>
nlohmann::json column(const std::vector<Row>& rows, const std::vector<std::size_t>& chosen,
                      Number Row::*number) {
  nlohmann::json values = nlohmann::json::array();
  for (const std::size_t i : chosen) values.push_back(shown(static_cast<double>(rows[i].*number)));
  return values;
}

// At most `most` bytes from `at` on. Reads nothing from a pipe or device, which could block or
// never end.
std::string piece_of(const std::filesystem::path& file, std::uintmax_t at, std::size_t most) {
  std::string piece(most, '\0');
  try {
    piece.resize(InputFile(file).read(at, std::as_writable_bytes(std::span(piece))));
  } catch (const RequestError&) {  // replaced or removed: try again next time
    piece.clear();
  }
  return piece;
}

}  // namespace

bool LineReader::read(std::vector<std::string>& lines) {
  lines.clear();
  behind_ = false;
  struct stat facts {};
  if (::stat(file_.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const auto size = static_cast<std::uintmax_t>(facts.st_size);
  const bool anew = inode_ != facts.st_ino || size < at_;  // replaced or truncated
  if (anew) {
    at_ = 0;
    rest_.clear();
    inode_ = facts.st_ino;
  }
  if (size == at_) return anew;
  const std::string piece =
      piece_of(file_, at_, static_cast<std::size_t>(std::min<std::uintmax_t>(size - at_, kMostPiece)));
  at_ += piece.size();
  behind_ = at_ < size && !piece.empty();
  rest_ += piece;
  std::size_t from = 0;
  for (std::size_t end; (end = rest_.find('\n', from)) != std::string::npos; from = end + 1)
    lines.push_back(rest_.substr(from, end - from));
  rest_.erase(0, from);
  return anew;
}

RunFollower::RunFollower(const std::filesystem::path& folder)
    : folder_(folder), metrics_file_(folder / "metrics.jsonl"), progress_file_(folder / "progress.jsonl") {
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
    ++nodes_version_;
  }
  for (const std::string& line : lines)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.is_object())
      take_measurement(json);
  if (progress_file_.read(lines)) progress_.clear();
  for (const std::string& line : lines)
    if (const auto json = nlohmann::json::parse(line, nullptr, false); json.is_object()) take_progress(json);
  std::error_code unknown;
  ended_ = std::filesystem::exists(folder_ / "summary.json", unknown);
  take_nodes();
  return before != std::tuple(progress_version_, nodes_version_, now_version_, ended_);
}

void RunFollower::take_measurement(const nlohmann::json& line) {
  Measurement at{};
  at.step = value_of(line, "step");
  if (!std::isfinite(at.step)) return;
  while (!measurements_.empty() && measurements_.back().step >= at.step) {  // measured again
    measurements_.pop_back();
    nodes_.pop_back();
  }
  at.seconds = value_of(line, "seconds");
  at.epoch = value_of(line, "epoch");
  at.rate = value_of(line, "learning_rate");
  at.speed = value_of(line, "images_per_second");
  at.loss = value_of(line, "train", "loss");
  at.accuracy = value_of(line, "average_model", "accuracy");
  at.cv = value_of(line, "cv");
  std::vector<NodeAt> nodes;
  double sum = 0, squares = 0, tested = 0;
  if (const auto list = line.find("nodes"); list != line.end() && list->is_array())
    for (const auto& node : *list) {
      const double accuracy =
          node.is_object() && node.contains("test") ? value_of(node["test"], "accuracy") : kNothing;
      const double bytes = value_of(node, "bytes_sent");
      nodes.push_back({static_cast<float>(accuracy), static_cast<float>(value_of(node, "l2")),
                       static_cast<float>(value_of(node, "steps")),
                       static_cast<float>(value_of(node, "compute_seconds")),
                       static_cast<float>(value_of(node, "waiting_seconds")),
                       static_cast<float>(value_of(node, "communication_seconds")), static_cast<float>(bytes),
                       static_cast<float>(value_of(node, "staleness", "mean"))});
      if (std::isfinite(bytes)) at.bytes += bytes;
      if (std::isfinite(accuracy)) {
        sum += accuracy;
        squares += accuracy * accuracy;
        ++tested;
      }
    }
  at.mean = tested > 0 ? sum / tested : kNothing;
  at.std = tested > 0 ? std::sqrt(std::max(0.0, squares / tested - at.mean * at.mean)) : kNothing;
  if (const auto why = line.find("stopped"); why != line.end() && why->is_string())
    stopped_ = why->get<std::string>();
  measurements_.push_back(at);
  nodes_.push_back(std::move(nodes));
  ++nodes_version_;
  ++progress_version_;
}

void RunFollower::take_progress(const nlohmann::json& line) {
  const Going at{value_of(line, "step"), value_of(line, "loss"), value_of(line, "cv"),
                 value_of(line, "images_per_second")};
  if (!std::isfinite(at.step)) return;
  while (!progress_.empty() && progress_.back().step >= at.step) progress_.pop_back();  // the run was resumed
  progress_.push_back(at);
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

nlohmann::json RunFollower::about() const {
  return {{"name", name_},
          {"config", config_},
          {"strategy", config_value(config_, "strategy", "name")},
          {"model", config_value(config_, "model", "name")},
          {"graph", graph_of_config(config_)}};
}

nlohmann::json RunFollower::series(std::size_t rows) const {
  const auto chosen = some_of(measurements_.size(), rows), going = some_of(progress_.size(), rows);
  const auto of = [&](double Measurement::*number) { return column(measurements_, chosen, number); };
  const auto now = [&](double Going::*number) { return column(progress_, going, number); };
  return {{"name", name_},
          {"ended", ended_},
          {"stopped", stopped_},
          {"version", progress_version_},
          {"measurements",
           {{"step", of(&Measurement::step)},
            {"seconds", of(&Measurement::seconds)},
            {"bytes", of(&Measurement::bytes)},
            {"epoch", of(&Measurement::epoch)},
            {"learning_rate", of(&Measurement::rate)},
            {"images_per_second", of(&Measurement::speed)},
            {"loss", of(&Measurement::loss)},
            {"accuracy", of(&Measurement::accuracy)},
            {"accuracy_mean", of(&Measurement::mean)},
            {"accuracy_std", of(&Measurement::std)},
            {"cv", of(&Measurement::cv)}}},
          {"progress",
           {{"step", now(&Going::step)},
            {"loss", now(&Going::loss)},
            {"cv", now(&Going::cv)},
            {"images_per_second", now(&Going::speed)}}}};
}

nlohmann::json RunFollower::nodes(std::size_t rows) const {
  const auto chosen = some_of(measurements_.size(), rows);
  nlohmann::json json{{"name", name_},
                      {"version", nodes_version_},
                      {"step", column(measurements_, chosen, &Measurement::step)},
                      {"seconds", column(measurements_, chosen, &Measurement::seconds)},
                      {"bytes", column(measurements_, chosen, &Measurement::bytes)}};
  std::size_t count = 0;
  for (const auto& nodes : nodes_) count = std::max(count, nodes.size());
  nlohmann::json accuracy = nlohmann::json::array(), distance = nlohmann::json::array(),
                 last = nlohmann::json::array();
  bool tested = false;  // any node, at any time
  for (std::size_t node = 0; node < count; ++node) {
    nlohmann::json right = nlohmann::json::array(), apart = nlohmann::json::array();
    for (const std::size_t i : chosen) {
      const bool there = node < nodes_[i].size();
      right.push_back(there ? shown(static_cast<double>(nodes_[i][node].accuracy), kDigitsOfNodes) : nullptr);
      tested |= !right.back().is_null();
      apart.push_back(there ? shown(static_cast<double>(nodes_[i][node].distance), kDigitsOfNodes) : nullptr);
    }
    accuracy.push_back(std::move(right));
    distance.push_back(std::move(apart));
    // Lost: missing in the last measurement, or without a step since the previous one while others
    // advanced. New: not in the previous one.
    const auto& now = nodes_.back();
    const bool there = node < now.size();
    const std::vector<NodeAt>* before = nodes_.size() > 1 ? &nodes_[nodes_.size() - 2] : nullptr;
    const bool was = before != nullptr && node < before->size();
    const bool stands = there && was && now[node].steps == (*before)[node].steps &&
                        std::ranges::any_of(now, [&](const NodeAt& other) {
                          const auto i = static_cast<std::size_t>(&other - now.data());
                          return i < before->size() && other.steps > (*before)[i].steps;
                        });
    nlohmann::json row{
        {"node", node}, {"lost", !there || stands}, {"joined", there && before != nullptr && !was}};
    if (there) {
      const NodeAt& at = now[node];
      for (const auto& [key, value] :
           {std::pair("accuracy", at.accuracy), std::pair("distance", at.distance),
            std::pair("steps", at.steps), std::pair("computing", at.computing),
            std::pair("waiting", at.waiting), std::pair("communicating", at.communicating),
            std::pair("bytes", at.bytes), std::pair("staleness", at.staleness)})
        row[key] = shown(static_cast<double>(value));
    }
    last.push_back(std::move(row));
  }
  json["accuracy"] = tested ? std::move(accuracy) : nlohmann::json::array();
  json["distance"] = std::move(distance);
  json["last"] = std::move(last);
  return json;
}

}  // namespace veche::web
