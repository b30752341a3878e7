#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "veche/base/random.h"
#include "veche/comm/rest.h"
#include "veche/train/key_helpers.h"
#include "veche/train/letters.h"
#include "veche/train/own_pace.h"

namespace veche {
namespace {

constexpr Time kLook{0.05};  // between looks whether to stop

// AD-PSGD: a node trains without pause on a copy of its model; beside it a thread averages the model with a
// random neighbour's after every q-th step. The one who asks sends its model x; the one asked takes
// (x + y)/2 and answers with (y - x)/2, which the first adds to its own. What the training threads add in
// between stays, so the sum over nodes changes by gradients only.
//
// No deadlock on any graph, without the paper's bipartite rule: a node that waits for an answer refuses at
// once to be averaged by others, so a pair is never disturbed by a third, everybody asked answers without
// waiting for anybody, and a circle of waiting nodes cannot come to be. The price is an averaging skipped now
// and then. Two who have asked each other have each other's models already and need no answer.
class GossipAtOwnPace : public Strategy {
 public:
  explicit GossipAtOwnPace(StrategyContext context)
      : context_(std::move(context)),
        every_(static_cast<std::uint64_t>(context_.options.get<std::int64_t>("every"))),
        patience_(context_.options.get<double>("patience")),
        random_(context_.seed, "asynchronous gossip", context_.me()),
        model_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        stepped_(model_.size()) {
    for (const Edge& edge : context_.topology->graph().edges()) {
      const int me = context_.channel.me().value;
      if (edge.from == me || edge.to == me)
        neighbours_.push_back(NodeId{edge.from == me ? edge.to : edge.from});
    }
  }
  ~GossipAtOwnPace() override { stop_ = true; }

  void start() override {
    if (!neighbours_.empty()) thread_ = std::jthread([this] { average_beside(); });
  }

  void before_backward(std::uint64_t /*step*/) override {
    const std::lock_guard lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
    seen_ = averaged_;
  }
  std::span<float> step_target(std::uint64_t /*step*/) override { return stepped_; }
  // What the optimiser made of the copy is added to what the model has become meanwhile.
  void after_step(std::uint64_t step) override {
    const std::span<const float> before = context_.learner.parameters();
    if (context_.samples.count(context_.me(), step) > 0) {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += stepped_[i] - before[i];
      staleness_.note(averaged_ - seen_);
    }
    if (due(step, every_) && thread_.joinable())
      endpoint().send(context_.channel.me(), tag(), letter(kWanted, {}));
    context_.channel.sent.bytes += sent_bytes_.exchange(0);
    context_.channel.sent.messages += sent_messages_.exchange(0);
  }

  // Its thread asks nobody any more and has got all answers, but still gives them. So when all have left, all
  // models are at rest.
  void leave() override {
    if (!thread_.joinable()) return;
    endpoint().send(context_.channel.me(), tag(), letter(kLeave, {}));
    const Time until = endpoint().now() + patience_;
    while (!left_ && endpoint().now() < until) rest(endpoint(), Time(0.001));
  }
  void finish() override {
    const std::lock_guard lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
  }

  std::unique_lock<std::mutex> hold() override {
    std::unique_lock lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
    return lock;
  }
  Staleness staleness() const override { return staleness_; }
  std::vector<std::span<float>> state() override { return {model_}; }

 private:
  enum Kind : std::uint64_t { kWanted, kLeave, kAsk, kAnswer, kBusy };
  Tag tag() const { return {context_.channel.tag.value << 8 | 1}; }
  Endpoint& endpoint() { return context_.channel.endpoint; }

  void average_beside() {
    while (!stop_) {
      if (waits_for_ &&
          endpoint().now() > waits_until_) {  // skipped; should it still answer, that is added then
        waits_for_.reset();
        const std::lock_guard lock(mutex_);
        ++staleness_.dropped;
      }
      if (!waits_for_ && wanted_ > 0) {
        --wanted_;
        ask();
      }
      if (leaving_ && open_.empty()) left_ = true;
      Received received = endpoint().receive({}, tag(), endpoint().now() + kLook);
      if (received.outcome == Received::Outcome::message) hear(received.from, std::move(received.message));
    }
  }

  void ask() {
    const NodeId other = neighbours_[random_.below(neighbours_.size())];
    if (open_.contains(other) || !endpoint().alive(other)) return;
    Message& message = open_[other];
    {
      const std::lock_guard lock(mutex_);
      message = letter(kAsk, model_);
    }
    waits_for_ = other;
    waits_until_ = endpoint().now() + patience_;
    send(other, message);
  }

  void hear(NodeId from, Message message) {
    const Letter letter = open(std::move(message));
    const std::span<const float> theirs = letter.numbers();
    switch (letter.parties.front().version) {
      case kWanted:
        wanted_ = std::min(wanted_ + 1, kMostWanted);
        return;
      case kLeave:
        wanted_ = 0;
        leaving_ = true;
        return;
      case kAsk: {
        if (const auto asked = open_.find(from); asked != open_.end()) return cross(asked, theirs);
        if (waits_for_) return send(from, this->letter(kBusy, {}));
        Message answer;
        {
          const std::lock_guard lock(mutex_);
          change_.resize(model_.size());
          for (std::size_t i = 0; i < model_.size(); ++i) {
            change_[i] = (model_[i] - theirs[i]) / 2;
            model_[i] -= change_[i];
          }
          ++averaged_;
          answer = this->letter(kAnswer, change_);
        }
        return send(from, std::move(answer));
      }
      case kAnswer: {
        close(open_.find(from));
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += theirs[i];
        ++averaged_;
        return;
      }
      default:
        close(open_.find(from));
        const std::lock_guard lock(mutex_);
        ++staleness_.dropped;
    }
  }

  using Open = std::map<NodeId, Message>;

  // It has asked too, before it heard of our question.
  void cross(Open::iterator asked, std::span<const float> theirs) {
    const Letter ours = open(asked->second);
    close(asked);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += (theirs[i] - ours.numbers()[i]) / 2;
    ++averaged_;
  }

  void close(Open::iterator asked) {
    if (waits_for_ == asked->first) waits_for_.reset();
    open_.erase(asked);
  }

  Message letter(Kind kind, std::span<const float> numbers) {
    const Letter::Party party{context_.me(), 0, kind};
    return seal(context_.channel.pool, Letter::Kind::push, 0, {&party, 1}, numbers);
  }
  void send(NodeId to, Message message) {
    sent_bytes_ += message.size();
    sent_messages_ += 1;
    endpoint().send(to, tag(), std::move(message));
  }

  static constexpr int kMostWanted = 2;  // a node that falls behind with averaging does not catch up later

  StrategyContext context_;
  const std::uint64_t every_;
  const Time patience_;
  std::vector<NodeId> neighbours_;
  RandomStream random_;  // of the thread
  std::mutex mutex_;
  std::vector<float> model_;    // guarded by mutex_
  std::uint64_t averaged_ = 0;  // times; guarded by mutex_
  Staleness staleness_;         // guarded by mutex_; dropped: asked a busy or silent neighbour
  std::uint64_t seen_ = 0;      // averaged_ when the copy was made
  std::vector<float> stepped_;  // what the optimiser made of the copy
  std::vector<float> change_;   // of the thread
  // Of the thread:
  int wanted_ = 0;  // averages
  Open open_;       // asked and not answered yet, be it late: what was sent
  std::optional<NodeId> waits_for_;
  Time waits_until_{0};
  bool leaving_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
  std::atomic<bool> stop_ = false;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Strategy> make_gossip_at_own_pace(StrategyContext context) {
  return std::make_unique<GossipAtOwnPace>(std::move(context));
}

}  // namespace veche
