#include <algorithm>

#include "veche/base/errors.h"
#include "veche/base/vector_math.h"
#include "veche/train/key_helpers.h"
#include "veche/train/strategies.h"

namespace veche {
namespace {

// The vector is cut into a part for each server. Gradients of a part go up a tree to its server, summed on
// the way; the server makes the step with an optimiser of its own and sends the new parameters down the same
// tree. Without `fanout` the tree is a star. A server is a node like the others, which trains too unless
// `dedicated`.
class ParameterServer : public Strategy {
 public:
  explicit ParameterServer(StrategyContext context)
      : context_(std::move(context)),
        servers_(static_cast<std::size_t>(context_.options.get<std::int64_t>("servers"))),
        mean_(context_.options.get<std::string>("reduce") == "mean") {
    const std::int64_t fanout = context_.options.get<std::int64_t>("fanout");
    fanout_ = fanout > 0 ? static_cast<std::size_t>(fanout) : std::max<std::size_t>(1, context_.nodes() - 1);
    if (servers_ > context_.nodes())
      throw RequestError("strategy.servers = " + std::to_string(servers_) + " is more than the " +
                         std::to_string(context_.nodes()) + " nodes; lower it");
    if (context_.me() < servers_)
      optimizer_ = make_optimizer(context_.optimizer_options,
                                  part(context_.learner.parameters(), context_.me()).size());
  }

  void after_backward(std::uint64_t step) override {
    const double share = mean_ ? context_.samples.share(context_.me(), context_.nodes(), step) : 1;
    scale(context_.learner.gradients(), static_cast<float>(share));
    // Everybody goes through the servers in the same order and never waits while sending: nobody can be
    // waited for in a circle.
    for (std::size_t server = 0; server < servers_; ++server) push(server, step);
    for (std::size_t server = 0; server < servers_; ++server) pull(server);
  }

  std::vector<std::span<float>> state() override {
    return optimizer_ ? optimizer_->state() : std::vector<std::span<float>>{};
  }

 private:
  std::span<float> part(std::span<float> vector, std::size_t server) const {
    const std::size_t from = vector.size() * server / servers_;
    return vector.subspan(from, vector.size() * (server + 1) / servers_ - from);
  }

  // The tree of one server: places count from it around the nodes; the children of place r are r*F+1 ..
  // r*F+F.
  std::size_t place(std::size_t server) const {
    return (context_.me() + context_.nodes() - server) % context_.nodes();
  }
  NodeId node_at(std::size_t place, std::size_t server) const {
    return NodeId{static_cast<int>((place + server) % context_.nodes())};
  }
  template <class Do>
  void for_children(std::size_t server, Do action) const {
    const std::size_t first = place(server) * fanout_ + 1;
    for (std::size_t child = first; child < std::min(first + fanout_, context_.nodes()); ++child)
      action(node_at(child, server));
  }
  NodeId parent(std::size_t server) const { return node_at((place(server) - 1) / fanout_, server); }

  void push(std::size_t server, std::uint64_t step) {
    const std::span<float> gradient = part(context_.learner.gradients(), server);
    for_children(server, [&](NodeId child) { add(gradient, context_.channel.expect(child).as<float>()); });
    if (context_.me() == server)
      optimizer_->update(part(context_.learner.parameters(), server), gradient,
                         {.rate = context_.schedule.rate(step), .gradient_scale = 1, .number = step + 1});
    else
      context_.channel.send(parent(server), context_.channel.pool.copy_of(std::span<const float>(gradient)));
  }

  void pull(std::size_t server) {
    const std::span<float> parameters = part(context_.learner.parameters(), server);
    Message message;
    if (context_.me() == server) {
      message = context_.channel.pool.copy_of(std::span<const float>(parameters));
    } else {
      message = context_.channel.expect(parent(server));
      std::ranges::copy(message.as<float>(), parameters.begin());
    }
    for_children(server, [&](NodeId child) { context_.channel.send(child, message); });
  }

  StrategyContext context_;
  const std::size_t servers_;
  const bool mean_;
  std::size_t fanout_;
  std::unique_ptr<Optimizer> optimizer_;  // of the part this node serves; none elsewhere
};

}  // namespace

StrategyInfo parameter_server_strategy() {
  StrategyInfo info;
  info.name = "parameter-server";
  info.rule = "gradients go to the servers, which make the step and send parameters back";
  info.keys = {choice_key("update", {"sync"}, "when pushes are applied"),
               whole_key("servers", 1, "nodes over which the vector is divided"),
               flag_key("dedicated", false, "servers have no data and do not train"),
               whole_key("fanout", 0, "children of a node in the tree that sums on the way; 0: a star", 0),
               choice_key("reduce", {"mean", "sum"}, "of the nodes' gradients")};
  info.shorthand = "servers";
  info.shares_gradients = true;
  info.makes_the_step = true;
  info.idle_nodes = [](const Options& options) {
    return options.get<bool>("dedicated") ? options.get<int>("servers") : 0;
  };
  info.make = [](StrategyContext context) { return std::make_unique<ParameterServer>(std::move(context)); };
  return info;
}

}  // namespace veche
