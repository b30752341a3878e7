#include <algorithm>

#include "veche/errors.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/optim/rate_schedule.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/delay_line.h"
#include "veche/train/strategies/parameter_server/server_policy.h"
#include "veche/train/strategies/parameter_server/server_tree.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

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
        tree_(server_tree(context_)),
        mean_(read_policy(context_.options).mean),
        delay_(context_.options.get<std::int64_t>("delay"), context_.learner.gradients().size()) {
    if (context_.me() < tree_.servers())
      optimizer_ = make_optimizer(
          context_.optimizer_options,
          layers_of(context_.learner, tree_.part(context_.learner.parameters(), context_.me())));
  }

  Gradient after_backward(std::uint64_t step) override {
    context_.limit_gradient();
    const double share = mean_ ? context_.samples.share(context_.me(), context_.nodes(), step) : 1;
    scale(context_.learner.gradients(), static_cast<float>(share));
    // Everybody goes through the servers in the same order and never waits while sending: nobody can be
    // waited for in a circle.
    delay_.pass(context_.learner.gradients());
    for (std::size_t server = 0; server < tree_.servers(); ++server) push(server, step);
    for (std::size_t server = 0; server < tree_.servers(); ++server) pull(server);
    return Gradient::used;
  }

  SavedState state() override {
    SavedState all;
    if (optimizer_) all.vectors = optimizer_->state();
    delay_.add_state(all.vectors);
    return all;
  }

 private:
  void push(std::size_t server, std::uint64_t step) {
    const std::span<float> gradient = tree_.part(context_.learner.gradients(), server);
    tree_.for_children(server,
                       [&](NodeId child) { add(gradient, context_.channel.expect(child).as<float>()); });
    if (context_.me() == server)
      optimizer_->update(tree_.part(context_.learner.parameters(), server), gradient,
                         {.rate = context_.schedule.rate(step), .gradient_scale = 1, .number = step + 1});
    else
      context_.channel.send(tree_.parent(server),
                            context_.channel.pool.copy_of(std::span<const float>(gradient)));
  }

  void pull(std::size_t server) {
    const std::span<float> parameters = tree_.part(context_.learner.parameters(), server);
    Message message;
    if (context_.me() == server) {
      message = context_.channel.pool.copy_of(std::span<const float>(parameters));
    } else {
      message = context_.channel.expect(tree_.parent(server));
      std::ranges::copy(message.as<float>(), parameters.begin());
    }
    tree_.for_children(server, [&](NodeId child) { context_.channel.send(child, message); });
  }

  StrategyContext context_;
  const ServerTree tree_;
  const bool mean_;
  DelayLine delay_;
  std::unique_ptr<Optimizer> optimizer_;  // of the part this node serves; none elsewhere
};

std::unique_ptr<Strategy> make_parameter_server(StrategyContext context) {
  const ServerPolicy policy = read_policy(context.options);
  if (policy.in_step()) return std::make_unique<ParameterServer>(std::move(context));
  return make_async_parameter_server(std::move(context));
}

}  // namespace

StrategyInfo parameter_server_strategy() {
  StrategyInfo info;
  info.name = "parameter-server";
  info.rule = "gradients go to the servers, which make the step and send parameters back";
  info.keys = {
      choice_key("update", {"sync", "async", "ssp"},
                 "all pushes of a step in one update; each at once; each at once, the quickest worker at "
                 "most `staleness` clocks ahead"),
      {.name = "staleness",
       .kind = KeySpec::Kind::any,
       .fallback = Value{std::int64_t{0}},
       .help = "ssp: clocks ahead of the slowest; 0: as sync; inf: as async",
       .infinite = true},
      whole_key("backup", 0, "sync: workers whose gradients need not be waited for", 0),
      flag_key("damp", false, "async, ssp: scale gradients by 1 / (1 + their staleness)"),
      real_key("compensate", 0, "async, ssp: delay compensation, lambda of DC-ASGD"),
      whole_key("delay", 0, "to study: apply every gradient so many steps late", 0),
      whole_key("servers", 1, "nodes over which the vector is divided"),
      flag_key("dedicated", false, "servers have no data and do not train"),
      whole_key("fanout", 0, "children of a node in the tree that sums on the way; 0: a star", 0),
      choice_key("reduce", {"auto", "mean", "sum"},
                 "of the nodes' gradients; auto: mean, but w - lr g of each for async")};
  info.shorthand = "servers";
  info.idle_nodes = [](const Options& options) {
    return options.get<bool>("dedicated") ? options.get<int>("servers") : 0;
  };
  info.pace = [](const Options& options) {
    const ServerPolicy policy = read_policy(options);
    if (policy.in_step()) return Pace::in_step;
    return policy.bounded() ? Pace::async_equal_steps : Pace::async;
  };
  info.make = make_parameter_server;
  return info;
}

}  // namespace veche
