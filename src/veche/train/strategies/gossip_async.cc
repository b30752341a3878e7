#include <algorithm>
#include <map>
#include <optional>

#include "veche/base/thread/mutex.h"
#include "veche/packed.h"
#include "veche/random.h"
#include "veche/train/compression/copies.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/gossip_options.h"

namespace veche {
namespace {

// Children of the strategy's tag.
enum AsyncGossipTalk : std::uint64_t {
  kToHelpers = 0,
  kNoneOpen = 1,  // from this node's own helper: no request is open
};

// AD-PSGD: a node trains without pause on a copy of its model; beside it a helper averages the
// model with a random neighbour's after every q-th step. The asking node sends its model x; the
// asked node takes (x + y)/2 and answers with (y - x)/2, which the asking node adds to its own
// model. Updates by the training threads in between stay, so the sum over nodes changes by
// gradients only.
//
// No deadlock on any graph, without the paper's bipartite rule: a node that waits for an answer
// refuses other requests at once. So no third node disturbs a pair, an asked node answers without
// waiting, and no circle of waiting nodes can form. The price is an average skipped now and then.
// Two nodes that have asked each other already have each other's models and need no answer.
//
// With a codec both ends of an edge keep copies of both models. The asking node sends how its model
// has changed, the asked node answers with its own change, and each moves by gamma/2 of the
// difference of the copies, which are the same at both ends: what one node gains the other loses. A
// node that refuses still takes the change.
class AsyncGossip : public Strategy,
                    public BeforeBackward,
                    public InPlaceStep,
                    public AsyncStrategy,
                    public MeasuredStrategy,
                    public StartsAlone {
 public:
  explicit AsyncGossip(StrategyContext context)
      : context_(std::move(context)),
        coder_(context_),
        options_(context_.options),
        patience_(options_.patience),
        model_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        stepped_(model_.size()),
        random_(context_.seed, "asynchronous gossip", context_.me()) {
    for (const Edge& edge : context_.topology->graph().edges()) {
      const int me = context_.channel.me().value;
      if (edge.from == me || edge.to == me)
        neighbours_.push_back(NodeId{edge.from == me ? edge.to : edge.from});
    }
    if (coder_.on())
      copies_.emplace(coder_, talk_, coder_.whole(true), neighbours_, neighbours_, Copies::Told::to_each);
  }

  void start_alone() override { alone_ = true; }

  // Not checked: the helper starts after the model was read.
  void start() override VECHE_NOT_CHECKED {
    if (copies_) alone_ ? copies_->start_apart() : copies_->start_with_all(model_);
    if (!neighbours_.empty()) context_.channel.endpoint.spawn([this] { average_beside(); });
  }

  void before_backward(std::uint64_t /*step*/) override {
    const MutexLock lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
    seen_ = averaged_;
  }
  std::span<float> step_target(std::uint64_t /*step*/) override { return stepped_; }
  // The optimiser's change of the copy is added to the model, which may have changed meanwhile.
  void after_step(std::uint64_t step) override {
    const std::span<const float> before = context_.learner.parameters();
    if (context_.samples.count(context_.me(), step) > 0) {
      const MutexLock lock(mutex_);
      for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += stepped_[i] - before[i];
      staleness_.note(averaged_ - seen_);
    }
    if (due(step, options_.every) && !neighbours_.empty()) talk_.send(me(), written(kWanted, {}));
  }

  // This node's helper asks no more and has all answers, but still answers others. So once all
  // nodes have left, no model changes.
  void leave() override {
    if (neighbours_.empty()) return;
    talk_.send(me(), written(kLeave, {}));
    left_.receive(now() + patience_);
  }
  void finish() override {
    const MutexLock lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
  }

  void inspect(const std::function<void()>& look) override {
    const MutexLock lock(mutex_);
    std::ranges::copy(model_, context_.learner.parameters().begin());
    look();
  }
  // Called by `look` of inspect, which holds the mutex, or when no helper is left. Not
  // checked: clang does not see the mutex through `look`.
  SavedState state() override VECHE_NOT_CHECKED { return {{model_}, {}}; }
  Staleness staleness() const override {
    const MutexLock lock(mutex_);
    return staleness_;
  }
  Coding coding() const override {
    const MutexLock lock(mutex_);
    Coding all = coder_.counted();
    all.remembered_squared = behind_;
    return all;
  }

 private:
  // The kind of a message, written after the numbers.
  enum Kind : std::uint32_t { kWanted, kLeave, kAsk, kAnswer, kBusy };
  // Wishes come from this node itself; only requests and answers hold numbers.
  Unpacked<Kind> unpacked(NodeId from, const Message& message) const {
    const NodeId known = context_.channel.endpoint.known_as(from);
    const auto all = unpack_with_trailer<Kind>(message, known, "a message of gossip");
    const bool wish = all.fields == kWanted || all.fields == kLeave;
    const bool numbers = all.fields == kAsk || all.fields == kAnswer;
    if (wish != (from == me()) || all.fields > kBusy || (!numbers && !all.payload.empty()))
      throw BadMessage(known, message.size(), "a message of gossip of a known kind");
    return all;
  }
  // A whole vector and a kind.
  std::span<const float> numbers_of(NodeId from, const Message& message) const {
    return unpack_items<float>(message, stepped_.size() + 1, context_.channel.endpoint.known_as(from),
                               "a model with its kind")
        .first(stepped_.size());
  }
  Message written(Kind kind, std::span<const float> numbers) {
    static_assert(sizeof(Kind) == sizeof(float));
    return pack_with_trailer(context_.channel.pool, std::as_bytes(numbers), kind);
  }
  // A code of how the model differs from this neighbour's copy of it.
  Message told(Kind kind, NodeId to) {
    {
      const MutexLock lock(mutex_);
      change_ = model_;
    }
    const Message code = copies_->encode(change_, to);
    return pack_with_trailer(context_.channel.pool, code.bytes(), kind);
  }
  // Moves by gamma/2 of the difference of the copies.
  void meet(NodeId other) {
    const double behind = copies_->remembered_squared(other, change_);
    const Pull pull{copies_->of(other), copies_->own(other), 0.5};
    const MutexLock lock(mutex_);
    move(model_, coder_.how().gamma, {&pull, 1});
    behind_ = behind;
    ++averaged_;
  }

  NodeId me() const { return context_.channel.me(); }
  Time now() const { return context_.channel.endpoint.now(); }

  void average_beside() {
    for (;;) {
      if (!waits_for_ && wanted_ > 0) {
        --wanted_;
        ask();
      }
      if (leaving_ && open_.empty()) {
        left_.send(me(), written(kLeave, {}));
        leaving_ = false;
      }
      Received received = talk_.receive(waits_for_ ? waits_until_ : kForever);
      if (received.outcome == Received::Outcome::message)
        hear(received.from, received.message);
      else if (received.outcome == Received::Outcome::peer_lost)
        drop(received.from);
      else if (waits_for_ && now() >= waits_until_)
        skip();  // a late answer is still added
    }
  }

  void skip() {
    waits_for_.reset();
    const MutexLock lock(mutex_);
    ++staleness_.dropped;
  }
  void drop(NodeId gone) {
    if (waits_for_ == gone) skip();
    open_.erase(gone);
  }

  void ask() {
    const NodeId other = neighbours_[random_.below(neighbours_.size())];
    if (open_.contains(other) || !context_.channel.endpoint.alive(other)) return;
    Message& message = open_[other];
    if (copies_) {
      message = told(kAsk, other);
    } else {
      const MutexLock lock(mutex_);
      message = written(kAsk, model_);
    }
    waits_for_ = other;
    waits_until_ = now() + patience_;
    copies_ ? copies_->send(other, message) : talk_.send(other, message);
  }

  // Of the kinds kAsk and kAnswer. A code may have any number of bytes.
  void hear_coded(NodeId from, Kind kind, const Message& code) {
    copies_->apply(from, code);
    if (kind != kAsk) {
      close(open_.find(from));
      return meet(from);
    }
    if (const auto asked = open_.find(from); asked != open_.end()) {
      close(asked);
      return meet(from);
    }
    if (waits_for_) return talk_.send(from, written(kBusy, {}));
    copies_->send(from, told(kAnswer, from));
    meet(from);
  }

  void hear(NodeId from, const Message& message) {
    const auto [kind, payload] = unpacked(from, message);
    if (copies_ && (kind == kAsk || kind == kAnswer))
      return hear_coded(from, kind, message.first(payload.size()));
    switch (kind) {
      case kWanted:
        wanted_ = std::min(wanted_ + 1, kMostWanted);
        return;
      case kLeave:
        wanted_ = 0;
        leaving_ = true;
        return;
      case kAsk: {
        const std::span<const float> theirs = numbers_of(from, message);
        if (const auto asked = open_.find(from); asked != open_.end()) return cross(asked, theirs);
        if (waits_for_) return talk_.send(from, written(kBusy, {}));
        Message answer;
        {
          const MutexLock lock(mutex_);
          change_.resize(model_.size());
          for (std::size_t i = 0; i < model_.size(); ++i) {
            change_[i] = (model_[i] - theirs[i]) / 2;
            model_[i] -= change_[i];
          }
          ++averaged_;
          answer = written(kAnswer, change_);
        }
        return talk_.send(from, std::move(answer));
      }
      case kAnswer: {
        const std::span<const float> theirs = numbers_of(from, message);
        close(open_.find(from));
        const MutexLock lock(mutex_);
        for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += theirs[i];
        ++averaged_;
        return;
      }
      default:
        close(open_.find(from));
        const MutexLock lock(mutex_);
        ++staleness_.dropped;
    }
  }

  using Open = std::map<NodeId, Message>;

  // The neighbour has asked too, before it got this node's request.
  void cross(Open::iterator asked, std::span<const float> theirs) {
    const Message sent = asked->second;
    const std::span<const float> ours = numbers_of(me(), sent);
    close(asked);
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < model_.size(); ++i) model_[i] += (theirs[i] - ours[i]) / 2;
    ++averaged_;
  }

  void close(Open::iterator asked) {
    if (asked == open_.end()) return;
    if (waits_for_ == asked->first) waits_for_.reset();
    open_.erase(asked);
  }

  static constexpr int kMostWanted = 2;  // more are dropped: averages are not made up for later

  StrategyContext context_;
  Coder coder_;
  Channel talk_ = context_.channel.child(kToHelpers);
  Channel left_ = context_.channel.child(kNoneOpen);
  const GossipOptions options_;
  const Time patience_;
  std::vector<NodeId> neighbours_;
  bool alone_ = false;   // starts without waiting for the others
  mutable Mutex mutex_;  // never held across a message
  std::vector<float> model_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t averaged_ VECHE_GUARDED_BY(mutex_) = 0;  // times
  // Squared distance of the last neighbour's copy from the model.
  double behind_ VECHE_GUARDED_BY(mutex_) = 0;
  Staleness staleness_ VECHE_GUARDED_BY(mutex_);  // dropped: asked a busy or silent neighbour
  std::uint64_t seen_ = 0;                        // averaged_ when the copy was made
  std::vector<float> stepped_;                    // the optimiser's result for the copy
  // Of the helper:
  std::optional<Copies> copies_;  // none without a codec
  RandomStream random_;
  std::vector<float> change_;
  int wanted_ = 0;  // averages
  Open open_;       // requests without an answer, also late ones: the message sent
  std::optional<NodeId> waits_for_;
  Time waits_until_{0};
  bool leaving_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_async_gossip(StrategyContext context) {
  return std::make_unique<AsyncGossip>(std::move(context));
}

}  // namespace veche
