#include "veche/train/strategies/strategies.h"

namespace veche {
namespace {

StrategyInfo silent(std::string name, std::string rule) {
  StrategyInfo info;
  info.name = std::move(name);
  info.rule = std::move(rule);
  info.coded.exchange = CodedExchange::nothing;
  info.make = [](const StrategyContext&) { return std::make_unique<Strategy>(); };
  return info;
}

}  // namespace

StrategyInfo single_strategy() {
  StrategyInfo info = silent("single", "one learner sees the batches of all nodes: the baseline");
  info.one_learner = true;
  info.replicas = [](const Options&) { return Replicas::bound; };
  return info;
}

StrategyInfo no_strategy() {
  return silent("none", "every node trains alone on its part of the data and never talks");
}

}  // namespace veche
