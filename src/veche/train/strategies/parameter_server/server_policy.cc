#include "veche/train/strategies/parameter_server/server_policy.h"

#include <limits>
#include <string>

#include "veche/errors.h"

namespace veche {

namespace {

using Update = ParameterServerOptions::Update;
using Reduce = ParameterServerOptions::Reduce;

Update update_of(const std::string& word) {
  return word == "sync" ? Update::sync : word == "async" ? Update::async : Update::ssp;
}
Reduce reduce_of(const std::string& word) {
  return word == "mean" ? Reduce::mean : word == "sum" ? Reduce::sum : Reduce::automatic;
}

std::uint64_t read_staleness(const Value& given) {
  const auto* number = std::get_if<std::int64_t>(&given.data);
  if (number != nullptr && *number >= 0) return static_cast<std::uint64_t>(*number);
  const auto* real = std::get_if<double>(&given.data);
  if (real == nullptr || *real != std::numeric_limits<double>::infinity())
    throw RequestError("strategy.staleness is a number of clocks from 0, or inf");
  return ServerPolicy::kAnyLead;
}

}  // namespace

ParameterServerOptions::ParameterServerOptions(const Options& options)
    : update(update_of(options.get<std::string>("update"))),
      reduce(reduce_of(options.get<std::string>("reduce"))),
      staleness(read_staleness(options.at("staleness"))),
      backup(static_cast<std::uint64_t>(options.get<std::int64_t>("backup"))),
      damp(options.get<bool>("damp")),
      compensate(options.get<double>("compensate")),
      delay(options.get<std::int64_t>("delay")),
      servers(options.get<int>("servers")),
      fanout(options.get<std::int64_t>("fanout")),
      dedicated(options.get<bool>("dedicated")) {}

ServerPolicy ParameterServerOptions::policy() const {
  ServerPolicy policy;
  policy.sync = update == Update::sync;
  policy.backup = backup;
  policy.mean = reduce == Reduce::mean || (reduce == Reduce::automatic && update != Update::async);
  policy.damp = damp;
  policy.compensate = compensate;
  if (policy.backup > 0 && !policy.sync)
    throw RequestError(std::string("strategy.backup is for strategy.update = \"sync\": with \"") +
                       (update == Update::ssp ? "ssp" : "async") + "\" every push is an update");
  if (policy.sync && (policy.damp || policy.compensate > 0))
    throw RequestError("strategy.damp and strategy.compensate are for update = \"async\" or \"ssp\"");
  if (update == Update::ssp) policy.lead = staleness;
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
