#include <algorithm>
#include <deque>

#include "veche/comm/equal_everywhere.h"
#include "veche/errors.h"
#include "veche/train/compression/coder.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/optim/model_step.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/delay_line.h"
#include "veche/train/strategies/parameter_server/server_policy.h"
#include "veche/train/strategies/parameter_server/server_tree.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// The vector is cut into a part for each server. Gradients of a part go up a tree to its server,
// summed on the way; the server makes the step with an optimiser of its own and sends the new
// parameters down the same tree. Without `fanout` the tree is a star. A server is a node like the
// others, which trains too unless `dedicated`. With a codec, nodes send coded gradients and
// remember what the codes left out. The parameters that nodes hold are then a copy, the same on all
// nodes, and a server sends codes of how its exact parameters differ from it.
class ParameterServer : public Strategy, public MeasuredStrategy, public ServesPart {
 public:
  ParameterServer(StrategyContext context, const ParameterServerOptions& options)
      : context_(std::move(context)),
        coder_(context_),
        tree_(server_tree(context_, options)),
        mean_(options.policy().mean),
        delay_(options.delay, context_.learner.gradients().size()) {
    if (context_.me() < tree_.servers()) optimizer_ = optimizer_of_part(context_, tree_);
    if (coder_.on()) make_streams();
  }

  void start() override {
    if (!coder_.on() || started_ != 0) return;
    started_ = 1;
    if (!equal_everywhere(context_.channel, context_.learner.parameters())) pull_all();
    std::ranges::copy(served(), exact_.begin());
  }

  Gradient after_backward(std::uint64_t step) override {
    context_.limit_gradient();
    const double share = mean_ ? context_.samples.share(context_.me(), context_.nodes(), step) : 1;
    scale(context_.learner.gradients(), static_cast<float>(share));
    // All nodes go through the servers in the same order and never wait while sending, so no circle
    // of waiting nodes can form.
    delay_.pass(context_.learner.gradients());
    coded_ = coder_.codes(step);
    for (std::size_t server = 0; server < tree_.servers(); ++server) push(server, step);
    pull_all();
    return Gradient::used;
  }

  // All nodes take the servers' exact parameters.
  void finish() override {
    if (!coder_.on()) return;
    std::ranges::copy(exact_, served().begin());
    coded_ = false;
    pull_all();
  }

  Part served_part() override {
    if (!optimizer_) return {};
    const auto from = static_cast<std::size_t>(served().data() - context_.learner.parameters().data());
    return {from, optimizer_->state()};
  }

  SavedState state() override {
    SavedState all;
    if (optimizer_) all.vectors = optimizer_->state();
    delay_.add_state(all.vectors);
    if (!coder_.on()) return all;
    coder_.add_state(all);
    all.numbers.push_back(&started_);
    all.vectors.emplace_back(exact_);
    for (std::size_t server = 0; server < tree_.servers(); ++server)
      (server == context_.me() ? pulls_ : pushes_)[server].add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (!coder_.on()) return all;
    for (std::size_t server = 0; server < tree_.servers(); ++server)
      if (server != context_.me()) all.remembered_squared += pushes_[server].remembered_squared();
    const std::span<const float> copy = exact_.empty() ? std::span<float>() : served();
    all.remembered_squared += distance(exact_, copy).l2_squared;
    return all;
  }

 private:
  void make_streams() {
    const std::span<float> whole = context_.learner.parameters();
    for (std::size_t server = 0; server < tree_.servers(); ++server) {
      const std::span<float> part = tree_.part(whole, server);
      const auto from = static_cast<std::size_t>(part.data() - whole.data());
      pushes_.emplace_back(coder_, coder_.shape(from, part.size(), false, context_.nodes()),
                           context_.channel);
      pulls_.emplace_back(coder_, coder_.shape(from, part.size(), true, context_.nodes()), context_.channel);
    }
    exact_.resize(served().size());
  }
  // The part of the parameters that this node serves; empty elsewhere.
  std::span<float> served() const {
    const std::span<float> all = context_.learner.parameters();
    return context_.me() < tree_.servers() ? tree_.part(all, context_.me()) : std::span<float>();
  }

  void push(std::size_t server, std::uint64_t step) {
    const std::span<float> gradient = tree_.part(context_.learner.gradients(), server);
    tree_.for_children(server, [&](NodeId child) {
      const Message pushed =
          coded_ ? context_.channel.expect(child) : context_.channel.expect(child, gradient.size_bytes());
      coded_ ? pushes_[server].add(child, pushed, 1, gradient) : add(gradient, pushed.as<float>());
    });
    if (context_.me() == server) {
      make_step(*optimizer_, coder_.on() ? std::span<float>(exact_) : served(), gradient,
                {step, context_.learning_rate(step)});
      if (coder_.on() && !coded_) std::ranges::copy(exact_, served().begin());
      return;
    }
    send(tree_.parent(server),
         coded_ ? pushes_[server].encode(gradient)
                : context_.channel.pool.copy_of(std::span<const float>(gradient)),
         gradient.size());
  }

  void send(NodeId to, Message message, std::size_t floats) {
    if (coder_.on()) coder_.count(floats * sizeof(float), message.size());
    context_.channel.send(to, std::move(message));
  }

  void pull_all() {
    for (std::size_t server = 0; server < tree_.servers(); ++server) pull(server);
  }

  void pull(std::size_t server) {
    const std::span<float> parameters = tree_.part(context_.learner.parameters(), server);
    const bool serves = context_.me() == server;
    const NodeId from = serves ? context_.channel.me() : tree_.parent(server);
    Message message;
    if (serves) {
      message =
          coded_ ? changes(parameters) : context_.channel.pool.copy_of(std::span<const float>(parameters));
    } else if (coded_) {
      message = context_.channel.expect(from);
    } else {
      message = context_.channel.expect(from, parameters.size_bytes());
      std::ranges::copy(message.as<float>(), parameters.begin());
    }
    if (coded_) pulls_[server].add(from, message, 1, parameters);
    tree_.for_children(server, [&](NodeId child) { send(child, message, parameters.size()); });
  }

  Message changes(std::span<const float> copy) {
    change_.resize(copy.size());
    for (std::size_t i = 0; i < copy.size(); ++i) change_[i] = exact_[i] - copy[i];
    return pulls_[context_.me()].encode(change_);
  }

  StrategyContext context_;
  Coder coder_;
  std::deque<CodedStream> pushes_, pulls_;  // by server; empty without a codec
  std::vector<float> exact_;                // with a codec, the served part before coding
  std::vector<float> change_;
  std::uint64_t started_ = 0;
  bool coded_ = false;  // in this step
  const ServerTree tree_;
  const bool mean_;
  DelayLine delay_;
  std::unique_ptr<Optimizer> optimizer_;  // of the part this node serves; none elsewhere
};

std::unique_ptr<Strategy> make_parameter_server(StrategyContext context) {
  const ParameterServerOptions options(context.options);
  if (options.policy().in_step()) return std::make_unique<ParameterServer>(std::move(context), options);
  return make_async_parameter_server(std::move(context), options);
}

}  // namespace

StrategyInfo parameter_server_strategy() {
  StrategyInfo info;
  info.name = "parameter-server";
  info.rule = "servers make the step from the nodes' gradients and send the parameters back";
  info.keys = {
      choice_key("update", {"sync", "async", "ssp"},
                 "sync: one update per step; async: an update per push; ssp: as async, the fastest worker at "
                 "most `staleness` clocks ahead"),
      {.name = "staleness",
       .kind = KeySpec::Kind::any,
       .fallback = Value{std::int64_t{0}},
       .help = "ssp: clocks ahead of the slowest; 0: as sync; inf: as async",
       .infinite = true},
      whole_key("backup", 0, "sync: number of the slowest gradients that an update does not wait for", 0),
      flag_key("damp", false, "async, ssp: scale gradients by 1 / (1 + their staleness)"),
      real_key("compensate", 0, "async, ssp: delay compensation, lambda of DC-ASGD"),
      whole_key("delay", 0, "apply every gradient this many steps late (for studies)", 0),
      whole_key("servers", 1, "number of servers that share the vector"),
      flag_key("dedicated", false, "servers have no data and do not train"),
      whole_key("fanout", 0, "children of a node in the tree that sums on the way; 0: a star", 0),
      choice_key("reduce", {"auto", "mean", "sum"},
                 "of the nodes' gradients; auto: mean, but w - lr g of each for async")};
  info.shorthand = "servers";
  info.idle_nodes = [](const Options& section) {
    const ParameterServerOptions options(section);
    return options.dedicated ? options.servers : 0;
  };
  info.fit_to_nodes = [](Options& options, int nodes) {
    if (ParameterServerOptions(options).servers > nodes) options.set("servers", {std::int64_t{nodes}});
  };
  info.pace = [](const Options& options) {
    const ServerPolicy policy = ParameterServerOptions(options).policy();
    if (policy.in_step()) return Pace::in_step;
    return policy.bounded() ? Pace::async_equal_steps : Pace::async;
  };
  info.replicas = [](const Options&) { return Replicas::served; };
  info.sums_gradients = [](const Options& options) {
    return ParameterServerOptions(options).reduce == ParameterServerOptions::Reduce::sum;
  };
  info.keeps_layers_whole = "set strategy.servers to 1";
  info.coded = {.exchange = CodedExchange::gradients,
                .refuses = [](const CodecRequest& request) -> std::optional<Refusal> {
                  if (!request.async || ParameterServerOptions(request.options).fanout == 0) return {};
                  return Refusal{"sums of pushes on their way to a server would have to be coded again there",
                                 "choose strategy.fanout = 0, or strategy.update = \"sync\""};
                }};
  info.refuses_completed_steps = [](const Options& section) -> std::optional<Refusal> {
    if (ParameterServerOptions(section).delay == 0) return {};
    return Refusal{"strategy.delay", "leave out strategy.delay"};
  };
  info.refuses_grid = [](const Options& section) -> std::optional<Refusal> {
    const ParameterServerOptions options(section);
    if (options.backup > 0)
      return Refusal{"strategy.backup", "leave it out: a lost member is not waited for anyway"};
    if (options.dedicated) return Refusal{"strategy.dedicated = true", "let the servers train as well"};
    return {};
  };
  info.make = make_parameter_server;
  return info;
}

}  // namespace veche
