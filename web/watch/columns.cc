// What the page is told: the answers of RunFollower.
#include "web/watch/columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "veche/measures.h"
#include "web/report/records.h"
#include "web/watch/follower.h"

namespace veche::web {
namespace {

constexpr int kDigits = 6;

// A measure of a node at a measurement, given the one before (null if it was never seen).
using NodeMeasure = float (*)(const NodeAt* before, const NodeAt& now);

std::optional<NodeMeasure> node_measure(std::string_view name) {
  struct Named {
    std::string_view name;
    NodeMeasure value;
  };
  static constexpr Named kMeasures[] = {
      {"accuracy", [](const NodeAt*, const NodeAt& now) { return now.accuracy; }},
      {"loss", [](const NodeAt*, const NodeAt& now) { return now.loss; }},
      {"distance", [](const NodeAt*, const NodeAt& now) { return now.distance; }},
      {"staleness", [](const NodeAt*, const NodeAt& now) { return now.staleness; }},
      {"bytes", [](const NodeAt*, const NodeAt& now) { return now.bytes; }},
      {"steps", [](const NodeAt*, const NodeAt& now) { return now.steps; }},
      {"speed",  // steps per second
       [](const NodeAt* before, const NodeAt& now) {
         const double seconds = since(&NodeAt::computing, before, now) +
                                since(&NodeAt::waiting, before, now) +
                                since(&NodeAt::communicating, before, now);
         return static_cast<float>(seconds > 0 ? since(&NodeAt::steps, before, now) / seconds
                                               : std::numeric_limits<double>::quiet_NaN());
       }},
      {"computing",
       [](const NodeAt* before, const NodeAt& now) {
         return static_cast<float>(shares_since(before, now).computing);
       }},
      {"waiting", [](const NodeAt* before,
                     const NodeAt& now) { return static_cast<float>(shares_since(before, now).waiting); }},
      {"communicating",
       [](const NodeAt* before, const NodeAt& now) {
         return static_cast<float>(shares_since(before, now).communicating);
       }},
  };
  for (const Named& measure : kMeasures)
    if (measure.name == name) return measure.value;
  return {};
}

constexpr std::size_t kMostViews = 20;  // those before are not drawn in a replay

nlohmann::json number_in_config(const std::string& config, const char* section, const char* key) {
  const auto number = nlohmann::json::parse(config_value(config, section, key), nullptr, false);
  return number.is_number() ? number : nlohmann::json(nullptr);
}

}  // namespace

nlohmann::json shown(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0 || std::abs(value) > 1e15) return value;
  const double scale = std::pow(10, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::vector<std::size_t> some_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t taken = std::min(count, most);
  for (std::size_t i = 1; i <= taken; ++i) chosen.push_back(i * count / taken - 1);
  return chosen;
}

nlohmann::json described(const Measure& measure) {
  return {{"name", measure.name}, {"title", measure.title}, {"unit", measure.unit}, {"up", measure.up}};
}

nlohmann::json RunFollower::about() const {
  const auto value = [&](const char* section, const char* key) {
    return config_value(config_, section, key);
  };
  return {{"name", name_},
          {"config", config_},
          {"strategy", value("strategy", "name")},
          {"model", value("model", "name")},
          {"data", value("data", "name")},
          {"partition", value("data", "partition")},
          {"codec", value("compress", "codec")},
          {"topology", graph_of_config(config_).family},
          {"engine", value("cluster", "transport")},
          {"epochs", number_in_config(config_, "run", "epochs")},
          {"steps", number_in_config(config_, "run", "steps")}};
}

nlohmann::json RunFollower::graph() const {
  const ConfiguredGraph graph = graph_of_config(config_);
  std::vector<Seats> views(views_.end() - static_cast<std::ptrdiff_t>(std::min(views_.size(), kMostViews)),
                           views_.end());
  if (views.empty()) {
    views.emplace_back();
    for (int i = 0; i < graph.nodes; ++i) views.back().places.push_back(static_cast<std::size_t>(i));
  }
  nlohmann::json json{{"family", graph.family},
                      {"weights", graph.weights},
                      {"of_groups", graph.of_groups},
                      {"names", places_.names()},
                      {"views", nlohmann::json::array()}};
  std::map<std::size_t, Edges> made;  // by the number of nodes
  for (const Seats& view : views) {
    const std::size_t nodes = view.places.size();
    auto [edges, is_new] = made.try_emplace(nodes);
    if (is_new) edges->second = edges_of_config(config_, static_cast<int>(nodes));
    nlohmann::json placed = nlohmann::json::array();
    for (const auto& edge : edges->second.drawn) {
      placed.push_back({view.places[edge[0].get<std::size_t>()], view.places[edge[1].get<std::size_t>()]});
      for (std::size_t i = 2; i < edge.size(); ++i) placed.back().push_back(shown(edge[i].get<double>()));
    }
    json["views"].push_back({{"step", view.step},
                             {"seats", view.places},
                             {"edges", std::move(placed)},
                             {"edge_count", edges->second.count}});
  }
  return json;
}

nlohmann::json RunFollower::series(std::size_t rows) const {
  const auto chosen = some_of(measurements_.size(), rows), going = some_of(progress_.size(), rows);
  const auto of = [&](double Measurement::*number) { return column(measurements_, chosen, number); };
  const auto now = [&](double Going::*number) { return column(progress_, going, number); };
  const Measurement* const last = measurements_.empty() ? nullptr : &measurements_.back();
  return {{"name", name_},
          {"ended", ended_},
          {"stopped", stopped_},
          {"version", progress_version_},
          {"sample", sample_},
          {"parameters", parameters_},
          {"measure", described(main_measure(task_))},
          {"things", things_of(task_)},
          {"marks", marks_.json(ended_, stopped_, last)},
          {"measurements",
           {{"step", of(&Measurement::step)},
            {"seconds", of(&Measurement::seconds)},
            {"bytes", of(&Measurement::bytes)},
            {"epoch", of(&Measurement::epoch)},
            {"learning_rate", of(&Measurement::rate)},
            {"targets_per_second", of(&Measurement::speed)},
            {"loss", of(&Measurement::loss)},
            {"test_loss", of(&Measurement::test_loss)},
            {"accuracy", of(&Measurement::accuracy)},
            {"accuracy_mean", of(&Measurement::mean)},
            {"accuracy_std", of(&Measurement::std)},
            {"cv", of(&Measurement::cv)},
            {"present", of(&Measurement::present)},
            {"computing", of(&Measurement::computing)},
            {"waiting", of(&Measurement::waiting)},
            {"communicating", of(&Measurement::communicating)},
            {"staleness", of(&Measurement::staleness)}}},
          {"progress",
           {{"step", now(&Going::step)},
            {"loss", now(&Going::loss)},
            {"cv", now(&Going::cv)},
            {"targets_per_second", now(&Going::speed)}}}};
}

nlohmann::json RunFollower::nodes(std::size_t rows) const {
  const auto chosen = some_of(measurements_.size(), rows);
  nlohmann::json json{{"name", name_},
                      {"version", nodes_version_},
                      {"step", column(measurements_, chosen, &Measurement::step)},
                      {"seconds", column(measurements_, chosen, &Measurement::seconds)},
                      {"bytes", column(measurements_, chosen, &Measurement::bytes)},
                      {"epoch", column(measurements_, chosen, &Measurement::epoch)}};
  json["count"] = places_.count();
  return json;
}

std::string RunFollower::column_of_nodes(std::string_view measure, std::size_t rows) const {
  const auto value = node_measure(measure);
  if (!value) return {};
  const auto chosen = some_of(measurements_.size(), rows);
  const std::size_t count = places_.count();
  std::vector<float> values(count * chosen.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    const auto& now = nodes_[chosen[at]];
    // Shares are of the time since the row before, which is not the measurement before in a long
    // run.
    const std::vector<NodeAt>* const before = at == 0 ? nullptr : &nodes_[chosen[at - 1]];
    for (std::size_t place = 0; place < now.size(); ++place)
      if (now[place].present)
        values[place * chosen.size() + at] =
            (*value)(before != nullptr && place < before->size() ? &(*before)[place] : nullptr, now[place]);
  }
  static_assert(std::endian::native == std::endian::little, "the page reads the bytes as they are");
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace veche::web
