#include "veche/train/strategies/parameter_server/server_policy.h"

#include "veche/errors.h"

namespace veche {

ParameterServerOptions::ParameterServerOptions(const Options& options)
    : update(options.get<std::string>("update")),
      reduce(options.get<std::string>("reduce")),
      staleness(options.at("staleness")),
      backup(static_cast<std::uint64_t>(options.get<std::int64_t>("backup"))),
      damp(options.get<bool>("damp")),
      compensate(options.get<double>("compensate")),
      delay(options.get<std::int64_t>("delay")),
      servers(options.get<int>("servers")),
      fanout(options.get<std::int64_t>("fanout")),
      dedicated(options.get<bool>("dedicated")) {}

ServerPolicy ParameterServerOptions::policy() const {
  ServerPolicy policy;
  policy.sync = update == "sync";
  policy.backup = backup;
  policy.mean = reduce == "mean" || (reduce == "auto" && update != "async");
  policy.damp = damp;
  policy.compensate = compensate;
  if (policy.backup > 0 && !policy.sync)
    throw RequestError("strategy.backup is for strategy.update = \"sync\": with \"" + update +
                       "\" every push is an update");
  if (policy.sync && (policy.damp || policy.compensate > 0))
    throw RequestError("strategy.damp and strategy.compensate are for update = \"async\" or \"ssp\"");
  const auto* number = std::get_if<std::int64_t>(&staleness.data);
  const auto* real = std::get_if<double>(&staleness.data);
  if ((number == nullptr || *number < 0) &&
      (real == nullptr || *real != std::numeric_limits<double>::infinity()))
    throw RequestError("strategy.staleness is a number of clocks from 0, or inf");
  if (update == "ssp" && number != nullptr) policy.lead = static_cast<std::uint64_t>(*number);
  return policy;
}

ServerTree server_tree(const StrategyContext& context, const ParameterServerOptions& options) {
  const auto servers = static_cast<std::size_t>(options.servers);
  if (servers > context.nodes())
    throw RequestError("strategy.servers = " + std::to_string(servers) + " is more than the " +
                       std::to_string(context.nodes()) + " nodes; lower it");
  return {context.nodes(), context.me(), servers, static_cast<std::size_t>(options.fanout)};
}

std::unique_ptr<Optimizer> optimizer_of_part(const StrategyContext& context, const ServerTree& tree) {
  const std::span<const float> whole = context.learner.parameters();
  const std::span<const float> part = tree.part(whole, context.me());
  return context.make_optimizer(static_cast<std::size_t>(part.data() - whole.data()), part.size());
}

}  // namespace veche
