#include "web/watch/measured.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "veche/runtime/record/measures_json.h"

namespace veche::web {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

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

Shares shares_since(const NodeAt* before, const NodeAt& now) {
  const auto since = [&](float NodeAt::*time) {
    const auto all = static_cast<double>(now.*time);
    return before == nullptr || now.steps < before->steps ? all : all - static_cast<double>(before->*time);
  };
  const Shares times{since(&NodeAt::computing), since(&NodeAt::waiting), since(&NodeAt::communicating)};
  const double whole = times.computing + times.waiting + times.communicating;
  if (!(whole > 0)) return {kNothing, kNothing, kNothing};
  return {times.computing / whole, times.waiting / whole, times.communicating / whole};
}

bool stands(std::span<const NodeAt> before, std::span<const NodeAt> now, std::size_t node) {
  if (node >= before.size() || node >= now.size() || now[node].steps != before[node].steps) return false;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i)
    if (now[i].steps > before[i].steps) return true;
  return false;
}

void read_measurement(const nlohmann::json& line, const Measurement* before,
                      std::span<const NodeAt> nodes_before, Measurement& at, std::vector<NodeAt>& nodes) {
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
  if (const auto list = line.find("nodes"); list != line.end() && list->is_array())
    for (const auto& entry : *list) {
      const NodeAt node = node_of(entry, measure.c_str());
      const std::size_t i = nodes.size();
      const NodeAt* const was = i < nodes_before.size() ? &nodes_before[i] : nullptr;
      // Sent since: what lost members have sent stays in the sum, which therefore never goes down.
      const double sent = static_cast<double>(node.bytes) -
                          (was != nullptr && std::isfinite(was->bytes) ? static_cast<double>(was->bytes) : 0);
      if (sent > 0) at.bytes += sent;
      const Shares shares = shares_since(was, node);
      computing.add(shares.computing);
      waiting.add(shares.waiting);
      communicating.add(shares.communicating);
      accuracy.add(static_cast<double>(node.accuracy));
      staleness.add(static_cast<double>(node.staleness));
      nodes.push_back(node);
    }
  at.mean = accuracy.mean();
  at.std = accuracy.deviation();
  at.computing = computing.mean();
  at.waiting = waiting.mean();
  at.communicating = communicating.mean();
  at.staleness = staleness.mean();
  double present = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!stands(nodes_before, nodes, i)) ++present;
  at.present = present;
}

Going read_progress(const nlohmann::json& line) {
  return {value_of(line, "step"), value_of(line, "loss"), value_of(line, "cv"),
          throughput_in(line).value_or(kNothing)};
}

}  // namespace veche::web
