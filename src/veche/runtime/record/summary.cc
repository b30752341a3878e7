#include "veche/runtime/record/summary.h"

#include <algorithm>
#include <cmath>

#include "veche/runtime/record/measures_json.h"
#include "veche/summary.h"

namespace veche {
namespace {

using Json = nlohmann::ordered_json;

Json staleness_json(const Staleness& staleness) {
  Json json{{"mean", staleness.mean()}, {"max", staleness.most}, {"applied", staleness.count}};
  if (staleness.dropped > 0) json["dropped"] = staleness.dropped;
  if (staleness.lead > 0) json["lead"] = staleness.lead;
  Json histogram = Json::array();  // each bin starts at `from` and ends before the next one
  for (std::size_t bin = 0; bin < Staleness::kBins; ++bin)
    if (staleness.bins[bin] > 0)
      histogram.push_back(
          {{"from", bin == 0 ? 0 : std::uint64_t{1} << (bin - 1)}, {"count", staleness.bins[bin]}});
  json["histogram"] = std::move(histogram);
  return json;
}

// `remembered`: the norm of the compression error not yet sent.
Json coding_json(const Coding& coding) {
  return {{"ratio", coding.ratio()},
          {"remembered", std::sqrt(coding.remembered_squared)},
          {"coding_seconds", coding.seconds}};
}

Json stage_json(const StageReport& stage) {
  return {{"stage", stage.stage},
          {"compute_seconds", stage.compute_seconds},
          {"bubble_seconds", stage.bubble_seconds},
          {"activation_bytes", stage.sent.bytes},
          {"activation_messages", stage.sent.messages},
          {"peak_bytes", stage.most_bytes_held}};
}

// For each stage the sums over the replicas, and the maximum of the memory.
Json stages_json(const Evaluation& evaluation) {
  std::vector<StageReport> sums;
  for (const NodeReport& node : evaluation.nodes) {
    const auto stage = static_cast<std::size_t>(node.stage.stage);
    if (stage == sums.size()) {
      sums.push_back(node.stage);
      continue;
    }
    StageReport& sum = sums[stage];
    sum.compute_seconds += node.stage.compute_seconds;
    sum.bubble_seconds += node.stage.bubble_seconds;
    sum.sent.bytes += node.stage.sent.bytes;
    sum.sent.messages += node.stage.sent.messages;
    sum.most_bytes_held = std::max(sum.most_bytes_held, node.stage.most_bytes_held);
  }
  Json stages = Json::array();
  for (const StageReport& sum : sums) stages.push_back(stage_json(sum));
  return stages;
}

// The distances of whole models, whose parts are on several nodes.
std::vector<Distance> of_models(const Evaluation& evaluation) {
  std::vector<Distance> all;
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    const NodeReport& node = evaluation.nodes[i];
    if (i % static_cast<std::size_t>(node.stage.stages) == 0) all.emplace_back();
    all.back().l1 += node.from_mean.l1;
    all.back().l2_squared += node.from_mean.l2_squared;
    all.back().linf = std::max(all.back().linf, node.from_mean.linf);
  }
  return all;
}

Json node_json(const NodeReport& node, const TestResult& average) {
  Json json;
  if (node.train.count > 0) json["train"] = measures_json(as_result(node.train, average));
  if (node.test.count > 0) json["test"] = measures_json(as_result(node.test, average));
  json["l1"] = node.from_mean.l1;
  json["l2"] = std::sqrt(node.from_mean.l2_squared);
  json["linf"] = node.from_mean.linf;
  json["steps"] = node.steps;
  if (node.lost > 0) json["lost_results"] = node.lost;
  json["compute_seconds"] = node.compute_seconds;
  json["waiting_seconds"] = node.waiting_seconds;
  json["communication_seconds"] = node.communication_seconds;
  json["bytes_sent"] = node.sent.bytes;
  json["messages"] = node.sent.messages;
  if (node.samples_sent.messages > 0) json["sample_bytes_sent"] = node.samples_sent.bytes;
  if (node.stage.stages > 1) json["stage"] = stage_json(node.stage);
  if (!node.staleness.empty()) json["staleness"] = staleness_json(node.staleness);
  if (!node.coding.empty()) json["compression"] = coding_json(node.coding);
  return json;
}

// Members of another number of nodes are those of another view.
Json nodes_json(const Evaluation& evaluation, std::span<const NodeMember> members) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    Json node = node_json(evaluation.nodes[i], evaluation.average_model);
    if (members.size() == evaluation.nodes.size()) {
      node["member"] = members[i].id;
      node["name"] = members[i].name;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Paths may hold bytes that are not UTF-8.
std::string text_of_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Spread spread_of_nodes(const Evaluation& evaluation) {
  const TestResult& average = evaluation.average_model;
  const Measure& measure = main_measure(average.task);
  std::vector<double> tested;
  for (const NodeReport& node : evaluation.nodes)
    if (node.test.count > 0) tested.push_back(*measure.value(as_result(node.test, average)));
  return spread_of(tested);
}

Disagreement disagreement(const Evaluation& evaluation) {
  Disagreement result;
  result.cv = evaluation.cv;
  const std::vector<Distance> models = of_models(evaluation);
  const auto count = static_cast<double>(models.size());
  for (const Distance& model : models) {
    result.l1 += model.l1 / count;
    result.l2 += std::sqrt(model.l2_squared) / count;
    result.linf = std::max(result.linf, model.linf);
  }
  return result;
}

Traffic total_sent(const Evaluation& evaluation) {
  Traffic sent;
  for (const NodeReport& node : evaluation.nodes) {
    sent.bytes += node.sent.bytes;
    sent.messages += node.sent.messages;
  }
  return sent;
}

Traffic total_samples_sent(const Evaluation& evaluation) {
  Traffic sent;
  for (const NodeReport& node : evaluation.nodes) {
    sent.bytes += node.samples_sent.bytes;
    sent.messages += node.samples_sent.messages;
  }
  return sent;
}

Staleness total_staleness(const Evaluation& evaluation) {
  Staleness all;
  for (const NodeReport& node : evaluation.nodes) all += node.staleness;
  return all;
}

Coding total_coding(const Evaluation& evaluation) {
  Coding all;
  for (const NodeReport& node : evaluation.nodes) all += node.coding;
  return all;
}

double updates_per_second(const Evaluation& evaluation) {
  double steps = 0;
  for (const NodeReport& node : evaluation.nodes) steps += static_cast<double>(node.steps);
  return evaluation.seconds > 0 ? steps / evaluation.seconds : 0;
}

Score total_train(const Evaluation& evaluation) {
  Score train;
  for (const NodeReport& node : evaluation.nodes) train += node.train;
  return train;
}

Json metrics_line(const Evaluation& evaluation, double epoch, std::span<const NodeMember> members) {
  const Score train = total_train(evaluation);
  Json json;
  json["step"] = evaluation.step;
  json["epoch"] = epoch;
  json["seconds"] = evaluation.seconds;
  const TestResult& average = evaluation.average_model;
  json["task"] = to_string(average.task);
  json[throughput_key(average.task)] = evaluation.targets_per_second;
  json["learning_rate"] = evaluation.rate;
  json["train"] = measures_json(as_result(train, average));
  if (average.count > 0) json["average_model"] = measures_json(average);
  if (!average.classes.empty()) json["average_model"]["classes"] = classes_json(average);
  json["cv"] = evaluation.cv;
  json["nodes"] = nodes_json(evaluation, members);
  if (evaluation.stopped != StopReason::none) json["stopped"] = to_string(evaluation.stopped);
  return json;
}

Json summary(const RunResult& result) {
  const Evaluation& last = result.last;
  Json json;
  json["run"] = result.info.folder.string();
  json["model"] = result.info.model;
  if (!result.info.data.empty()) json["data"] = result.info.data;
  if (!result.info.data.empty()) json["damaged_samples"] = result.damaged_samples;
  if (!result.damage.empty()) json["damage"] = result.damage;
  json["task"] = to_string(last.average_model.task);
  json["parameter_count"] = result.info.parameters;
  json["strategy"] = result.info.strategy;
  json["topology"] = result.info.topology;
  json["nodes"] = result.info.nodes;
  if (result.info.stages > 1) json["replicas"] = result.info.nodes / result.info.stages;
  json["steps"] = last.step;
  json["epochs"] = result.info.epoch(last.step);
  json["seconds"] = last.seconds;
  if (result.wall_seconds) json["wall_seconds"] = *result.wall_seconds;
  const TestResult& average = last.average_model;
  json[throughput_key(average.task)] = last.targets_per_second;
  Score tests;
  Score trains;
  double compute = 0;
  double waiting = 0;
  double communication = 0;
  for (const NodeReport& node : last.nodes) {
    waiting += node.waiting_seconds;
    tests += node.test;
    trains += node.train;
    compute += node.compute_seconds;
    communication += node.communication_seconds;
  }
  if (tests.count > 0) {
    const Measure& measure = main_measure(average.task);
    const Spread spread = spread_of_nodes(last);
    json["measure"] = measure.name;
    json[std::string(measure.name)] = {{"mean", spread.mean},    {"std", spread.std},
                                       {"min", spread.min},      {"max", spread.max},
                                       {"tested", spread.count}, {"average_model", *measure.value(average)}};
    json["average_model"] = measures_json(average);
    if (!average.classes.empty()) json["average_model"]["classes"] = classes_json(average);
  }
  json["loss"] = tests.count > 0 ? tests.loss() : trains.loss();
  json["train_loss"] = trains.loss();
  const Disagreement apart = disagreement(last);
  json["disagreement"] = {{"cv", apart.cv}, {"l1", apart.l1}, {"l2", apart.l2}, {"linf", apart.linf}};
  json["bytes_sent"] = total_sent(last).bytes;
  json["messages"] = total_sent(last).messages;
  if (const Traffic samples = total_samples_sent(last); samples.messages > 0)
    json["samples_sent"] = {{"bytes", samples.bytes}, {"messages", samples.messages}};
  json["compute_seconds"] = compute;
  json["waiting_seconds"] = waiting;
  json["communication_seconds"] = communication;
  json["updates_per_second"] = updates_per_second(last);
  if (const Staleness staleness = total_staleness(last); !staleness.empty())
    json["staleness"] = staleness_json(staleness);
  if (!result.info.codec.empty()) {
    json["compression"] = coding_json(total_coding(last));
    json["compression"]["codec"] = result.info.codec;
  }
  if (result.info.stages > 1) json["stages"] = stages_json(last);
  json["stopped"] = to_string(last.stopped);
  json["per_node"] = nodes_json(last, {});
  if (result.info.model == "quadratic") json["parameters"] = result.parameters;
  return json;
}

std::string summary_json(const RunResult& result) { return text_of_json(summary(result)); }

std::string metrics_json(const Evaluation& evaluation, double epoch) {
  return text_of_json(metrics_line(evaluation, epoch));
}

}  // namespace veche
