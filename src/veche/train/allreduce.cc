#include "veche/base/vector_math.h"
#include "veche/comm/collectives.h"
#include "veche/train/strategies.h"

namespace veche {
namespace {

// g <- the mean of all gradients, over samples: every node then makes the same step from the same place.
class AllReduce : public Strategy {
 public:
  explicit AllReduce(StrategyContext context) : context_(std::move(context)) {}

  void after_backward(std::uint64_t step) override {
    const auto me = static_cast<std::size_t>(context_.channel.me().value);
    const auto nodes = static_cast<std::size_t>(context_.channel.size());
    const std::span<float> gradients = context_.learner.gradients();
    scale(gradients, static_cast<float>(context_.samples.share(me, nodes, step)));
    all_reduce(context_.channel, gradients);
  }

 private:
  StrategyContext context_;
};

}  // namespace

StrategyInfo allreduce_strategy() {
  StrategyInfo info;
  info.name = "allreduce";
  info.rule = "g <- mean of g over all nodes, before every step";
  info.shares_gradients = true;
  info.make = [](StrategyContext context) { return std::make_unique<AllReduce>(std::move(context)); };
  return info;
}

}  // namespace veche
