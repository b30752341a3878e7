#include <algorithm>
#include <optional>
#include <utility>

#include "veche/collectives.h"
#include "veche/comm/broadcast.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/train/compression/coded_sum.h"
#include "veche/train/loop/attached_strategy.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

enum Conversation : std::uint64_t { kInside, kBetween };

using Groups = std::vector<std::vector<NodeId>>;

[[noreturn]] void refuse_groups(const std::string& why) {
  throw RequestError("strategy.groups " + why + "; give a size, or lists such as [[0, 1], [2, 3]]");
}

// The [strategy] section.
struct HierarchicalOptions {
  explicit HierarchicalOptions(const Options& options)
      : groups(options.at("groups")),
        between(options.get<std::string>("between")),
        every(every_in(options)),
        by_members(options.get<std::string>("across") == "members") {}

  const Value groups;  // see read_groups
  const std::string between;
  const std::uint64_t every;
  const bool by_members;  // all members speak for a group, not its leader
};

// `value` is a size, the last group taking what is left, or the lists themselves.
Groups read_groups(const Value& value, int nodes) {
  Groups groups;
  if (const auto* size = std::get_if<std::int64_t>(&value.data)) {
    if (*size < 1) refuse_groups("must be at least 1");
    for (int node = 0; node < nodes; ++node) {
      if (node % *size == 0) groups.emplace_back();
      groups.back().push_back(NodeId{node});
    }
    return groups;
  }
  const auto* lists = std::get_if<Value::List>(&value.data);
  if (lists == nullptr) refuse_groups("is not a list");
  std::vector<bool> seen(static_cast<std::size_t>(nodes));
  for (const Value& item : *lists) {
    const auto* members = std::get_if<Value::List>(&item.data);
    if (members == nullptr || members->empty()) refuse_groups("holds something that is not a list of nodes");
    groups.emplace_back();
    for (const Value& member : *members) {
      const auto* node = std::get_if<std::int64_t>(&member.data);
      if (node == nullptr || *node < 0 || *node >= nodes) refuse_groups("names a node that does not exist");
      if (seen[static_cast<std::size_t>(*node)])
        refuse_groups("names node " + std::to_string(*node) + " twice");
      seen[static_cast<std::size_t>(*node)] = true;
      groups.back().push_back(NodeId{static_cast<int>(*node)});
    }
  }
  if (std::ranges::find(seen, false) != seen.end())
    refuse_groups("leaves out node " + std::to_string(std::ranges::find(seen, false) - seen.begin()));
  return groups;
}

std::vector<StrategyInfo> between_strategies() {
  return {consensus_strategy(), gossip_strategy(), local_sgd_strategy(), push_sum_strategy(),
          moshpit_strategy()};
}

// All-reduce of gradients inside a group, so that its members have equal models; another strategy
// on the parameters between groups. That one is run by the groups' leaders, which then send the
// result to their members, or by all members, each with the members of the same rank in other
// groups. With a codec, gradients are summed in coded form, the strategy between groups codes its
// own messages, and leaders send codes of how their model has changed.
class Hierarchical : public Strategy, public MeasuredStrategy {
 public:
  explicit Hierarchical(StrategyContext context)
      : context_(std::move(context)), coder_(context_), options_(context_.options) {
    const Groups groups = read_groups(options_.groups, static_cast<int>(context_.nodes()));
    const auto mine = std::ranges::find_if(groups, [&](const auto& group) {
      return std::ranges::find(group, context_.channel.me()) != group.end();
    });
    members_ = *mine;
    inside_endpoint_ = make_group(context_.channel.endpoint, members_);
    inside_.emplace(context_.channel.child(kInside, *inside_endpoint_));
    const bool by_members = options_.by_members;
    const auto rank = static_cast<std::size_t>(inside_->me().value);
    for (const auto& group : groups) {
      if (by_members && group.size() != groups.front().size())
        throw RequestError("strategy.across = \"members\" needs groups of one size; choose \"leaders\"");
    }
    tells_members_ = !by_members;
    if (coder_.on() && members_.size() > 1) {
      gradients_.emplace(coder_, *inside_, inside_shape(coder_.how().feedback), AllReduceAlgorithm::ring);
      if (tells_members_ && members_.size() < context_.nodes())
        broadcast_.emplace(coder_, inside_shape(true), *inside_);
    }
    if (groups.size() == 1 || (!by_members && rank != 0)) return;
    std::vector<NodeId> peers;
    for (const auto& group : groups) peers.push_back(group[by_members ? rank : 0]);
    make_between(std::move(peers));
  }

  void start() override {
    if (between_) between_->start();
  }

  Gradient after_backward(std::uint64_t step) override {
    double all = 0;
    for (const NodeId member : members_)
      all += static_cast<double>(context_.samples.count(static_cast<std::size_t>(member.value), step));
    const auto count = static_cast<double>(context_.samples.count(context_.me(), step));
    scale(context_.learner.gradients(), all == 0 ? 0.0F : static_cast<float>(count / all));
    if (gradients_ && coder_.codes(step))
      gradients_->sum(context_.learner.gradients());
    else
      all_reduce(*inside_, context_.learner.gradients());
    if (between_) between_->after_backward(step);
    return Gradient::shared;
  }

  void after_step(std::uint64_t step) override {
    const bool tells = tells_members_ && members_.size() < context_.nodes() && due(step, options_.every);
    const bool coded = tells && broadcast_ && coder_.codes(step);
    if (coded) before_.assign(context_.learner.parameters().begin(), context_.learner.parameters().end());
    if (between_) between_->after_step(step);
    if (coded)
      tell_change();
    else if (tells)
      broadcast(*inside_, NodeId{0}, context_.learner.parameters());
  }

  void finish() override {
    if (between_) between_->finish();
    if (tells_members_ && members_.size() < context_.nodes())
      broadcast(*inside_, NodeId{0}, context_.learner.parameters());
    if (broadcast_)
      broadcast_.emplace(coder_, inside_shape(true), *inside_);  // all was sent: forget the rest
  }

  SavedState state() override {
    SavedState all = between_ ? between_->state() : SavedState{};
    coder_.add_state(all);
    if (gradients_) gradients_->add_state(all);
    if (broadcast_) broadcast_->add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (between_) all += between_->coding();
    if (gradients_) all.remembered_squared += gradients_->remembered_squared();
    if (broadcast_) all.remembered_squared += broadcast_->remembered_squared();
    return all;
  }

 private:
  // Without feedback, what codes of model changes leave out would never be sent, and members would
  // drift.
  StreamShape inside_shape(bool feedback) const {
    StreamShape shape = coder_.shape(0, context_.learner.parameters().size(), false, members_.size());
    shape.feedback = feedback;
    return shape;
  }

  // Sends the change that the strategy between groups has made to the leader's model.
  void tell_change() {
    const std::span<float> x = context_.learner.parameters();
    const bool leads = inside_->me() == NodeId{0};
    Message code;
    if (leads) {
      for (std::size_t i = 0; i < x.size(); ++i) before_[i] = x[i] - before_[i];
      code = broadcast_->encode(before_);
    }
    const std::uint64_t sent = inside_->sent().bytes;
    code = broadcast(*inside_, NodeId{0}, std::move(code),
                     [&](NodeId from, const Message& told) { broadcast_->add(from, told, 1, x); });
    const std::uint64_t coded = inside_->sent().bytes - sent;
    if (code.size() > 0) coder_.count(coded / code.size() * x.size_bytes(), coded);
  }

  void make_between(std::vector<NodeId> peers) {
    between_endpoint_ = make_group(context_.channel.endpoint, std::move(peers));
    between_channel_.emplace(context_.channel.child(kBetween, *between_endpoint_));
    for (const StrategyInfo& info : between_strategies()) {
      if (info.name != options_.between) continue;
      Options options;
      for (const KeySpec& key : info.keys)
        if (key.fallback) options.set(key.name, *key.fallback);
      options.set(options.has("every") ? "every" : "period",
                  Value{static_cast<std::int64_t>(options_.every)});
      between_.emplace(info.make({.channel = *between_channel_,
                                  .learner = context_.learner,
                                  .optimizer = context_.optimizer,
                                  .learning_rate = context_.learning_rate,
                                  .make_optimizer = context_.make_optimizer,
                                  .topology = context_.topology,
                                  .samples = equal_samples_,
                                  .options = options,
                                  .seed = context_.seed,
                                  .limit_gradient = context_.limit_gradient,
                                  .compression = context_.compression}));
    }
  }

  StrategyContext context_;
  Coder coder_;
  std::optional<CodedSum> gradients_;     // none without a codec
  std::optional<CodedStream> broadcast_;  // from a leader to its members; none without a codec
  std::vector<float> before_;
  const HierarchicalOptions options_;
  std::vector<NodeId> members_;  // of this node's group
  std::unique_ptr<Endpoint> inside_endpoint_, between_endpoint_;
  std::optional<Channel> inside_, between_channel_;
  const SamplePlan equal_samples_{};         // all groups have equal weight, whatever their samples
  std::optional<AttachedStrategy> between_;  // on nodes that exchange for their group
  bool tells_members_ = true;
};

}  // namespace

StrategyInfo hierarchical_strategy() {
  StrategyInfo info;
  info.name = "hierarchical";
  info.rule = "all-reduce of gradients inside groups, another strategy between them";
  std::vector<std::string> names;
  for (const StrategyInfo& between : between_strategies()) names.push_back(between.name);
  info.keys = {{.name = "groups",
                .kind = KeySpec::Kind::any,
                .fallback = Value{std::int64_t{2}},
                .help = "a size, or lists of nodes such as [[0, 1], [2, 3]]"},
               choice_key("between", names, "the strategy between groups; [topology] is the graph of groups"),
               every_key(),
               choice_key("across", {"leaders", "members"}, "which nodes exchange for a group")};
  info.shorthand = "groups";
  info.graph = StrategyInfo::Graph::undirected;
  info.graph_nodes = [](const Options& options, int nodes) {
    return static_cast<int>(read_groups(HierarchicalOptions(options).groups, nodes).size());
  };
  // Models inside a group are equal: after a change of members they would differ.
  info.replicas = [](const Options&) { return Replicas::bound; };
  info.coded.exchange = CodedExchange::both;
  info.make = [](StrategyContext context) { return std::make_unique<Hierarchical>(std::move(context)); };
  return info;
}

}  // namespace veche
