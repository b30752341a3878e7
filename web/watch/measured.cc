#include "web/watch/measured.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "veche/runtime/record/measures_json.h"

namespace veche::web {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

constexpr auto kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr NodeAt kUnseen{kMissing, kMissing, kMissing, kMissing, kMissing,
                         kMissing, kMissing, kMissing, kMissing, false};

float number_of(const nlohmann::json& node, const char* key, const char* inner = nullptr) {
  return static_cast<float>(value_of(node, key, inner));
}

NodeAt node_of(const nlohmann::json& node, const char* measure) {
  return {.accuracy = number_of(node, "test", measure),
          .loss = number_of(node, "train", "loss"),
          .distance = number_of(node, "l2"),
          .steps = number_of(node, "steps"),
          .computing = number_of(node, "compute_seconds"),
          .waiting = number_of(node, "waiting_seconds"),
          .communicating = number_of(node, "communication_seconds"),
          .bytes = number_of(node, "bytes_sent"),
          .staleness = number_of(node, "staleness", "mean")};
}

// Mean of what is there.
struct Mean {
  double sum = 0, squares = 0, count = 0;
  void add(double value) {
    if (!std::isfinite(value)) return;
    sum += value;
    squares += value * value;
    ++count;
  }
  double mean() const { return count > 0 ? sum / count : kNothing; }
  double deviation() const {
    return count > 0 ? std::sqrt(std::max(0.0, squares / count - mean() * mean())) : kNothing;
  }
};

}  // namespace

double value_of(const nlohmann::json& json, const char* key, const char* inner) {
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  if (found == json.end()) return kNothing;
  if (inner != nullptr) return value_of(*found, inner);
  return found->is_number() ? found->get<double>() : kNothing;
}

double since(float NodeAt::*number, const NodeAt* before, const NodeAt& now) {
  const auto all = static_cast<double>(now.*number);
  if (before == nullptr || now.steps < before->steps || !std::isfinite(before->*number)) return all;
  const double more = all - static_cast<double>(before->*number);
  return more < 0 ? all : more;
}

Shares shares_since(const NodeAt* before, const NodeAt& now) {
  const Shares times{since(&NodeAt::computing, before, now), since(&NodeAt::waiting, before, now),
                     since(&NodeAt::communicating, before, now)};
  const double whole = times.computing + times.waiting + times.communicating;
  if (!(whole > 0)) return {kNothing, kNothing, kNothing};
  return {times.computing / whole, times.waiting / whole, times.communicating / whole};
}

bool stands(std::span<const NodeAt> before, std::span<const NodeAt> now, std::size_t node) {
  if (node >= before.size() || node >= now.size() || !now[node].present ||
      now[node].steps != before[node].steps)
    return false;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i)
    if (now[i].steps > before[i].steps) return true;
  return false;
}

void read_measurement(const nlohmann::json& line, const Measurement* before,
                      std::span<const NodeAt> nodes_before, Places& places, Measurement& at,
                      std::vector<NodeAt>& nodes) {
  at.step = value_of(line, "step");
  at.seconds = value_of(line, "seconds");
  at.bytes = before == nullptr ? 0 : before->bytes;
  at.epoch = value_of(line, "epoch");
  at.rate = value_of(line, "learning_rate");
  at.speed = throughput_in(line).value_or(kNothing);
  at.loss = value_of(line, "train", "loss");
  const std::string measure(main_measure(task_in(line)).name);
  at.accuracy = value_of(line, "average_model", measure.c_str());
  at.test_loss = value_of(line, "average_model", "loss");
  at.cv = value_of(line, "cv");
  nodes.clear();
  Mean accuracy, computing, waiting, communicating, staleness;
  if (const auto list = line.find("nodes"); list != line.end() && list->is_array()) {
    const std::vector<std::size_t> taken = places.of(*list);
    nodes.assign(nodes_before.begin(), nodes_before.end());
    for (NodeAt& node : nodes) node.present = false;
    nodes.resize(std::max(nodes.size(), places.count()), kUnseen);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const NodeAt node = node_of((*list)[i], measure.c_str());
      const std::size_t place = taken[i];
      const NodeAt* const was = place < nodes_before.size() ? &nodes_before[place] : nullptr;
      // Sent since: what lost members have sent stays in the sum, which therefore never goes down.
      if (const double sent = since(&NodeAt::bytes, was, node); sent > 0) at.bytes += sent;
      const Shares shares = shares_since(was, node);
      computing.add(shares.computing);
      waiting.add(shares.waiting);
      communicating.add(shares.communicating);
      accuracy.add(static_cast<double>(node.accuracy));
      staleness.add(static_cast<double>(node.staleness));
      nodes[place] = node;
    }
  }
  at.mean = accuracy.mean();
  at.std = accuracy.deviation();
  at.computing = computing.mean();
  at.waiting = waiting.mean();
  at.communicating = communicating.mean();
  at.staleness = staleness.mean();
  double present = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].present && !stands(nodes_before, nodes, i)) ++present;
  at.present = present;
}

Going read_progress(const nlohmann::json& line) {
  return {value_of(line, "step"), value_of(line, "loss"), value_of(line, "cv"),
          throughput_in(line).value_or(kNothing)};
}

}  // namespace veche::web
