#include "veche/train/strategies/parameter_server/server_policy.h"

#include "veche/errors.h"

namespace veche {

ServerPolicy read_policy(const Options& options) {
  ServerPolicy policy;
  const auto update = options.get<std::string>("update");
  policy.sync = update == "sync";
  policy.backup = static_cast<std::uint64_t>(options.get<std::int64_t>("backup"));
  const auto reduce = options.get<std::string>("reduce");
  policy.mean = reduce == "mean" || (reduce == "auto" && update != "async");
  policy.damp = options.get<bool>("damp");
  policy.compensate = options.get<double>("compensate");
  if (policy.backup > 0 && !policy.sync)
    throw RequestError("strategy.backup is for strategy.update = \"sync\": with \"" + update +
                       "\" nobody is waited for");
  if (policy.sync && (policy.damp || policy.compensate > 0))
    throw RequestError("strategy.damp and strategy.compensate are for update = \"async\" or \"ssp\"");
  const Value& staleness = options.at("staleness");
  const auto* number = std::get_if<std::int64_t>(&staleness.data);
  const auto* real = std::get_if<double>(&staleness.data);
  if ((number == nullptr || *number < 0) &&
      (real == nullptr || *real != std::numeric_limits<double>::infinity()))
    throw RequestError("strategy.staleness is a number of clocks from 0, or inf");
  if (update == "ssp" && number != nullptr) policy.lead = static_cast<std::uint64_t>(*number);
  return policy;
}

ServerTree server_tree(const StrategyContext& context) {
  const auto servers = static_cast<std::size_t>(context.options.get<std::int64_t>("servers"));
  if (servers > context.nodes())
    throw RequestError("strategy.servers = " + std::to_string(servers) + " is more than the " +
                       std::to_string(context.nodes()) + " nodes; lower it");
  return {context.nodes(), context.me(), servers,
          static_cast<std::size_t>(context.options.get<std::int64_t>("fanout"))};
}

std::unique_ptr<Optimizer> optimizer_of_part(const StrategyContext& context, const ServerTree& tree) {
  const std::span<const float> whole = context.learner.parameters();
  const std::span<const float> part = tree.part(whole, context.me());
  return context.make_optimizer(static_cast<std::size_t>(part.data() - whole.data()), part.size());
}

}  // namespace veche
