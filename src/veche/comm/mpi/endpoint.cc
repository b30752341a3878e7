#include "veche/comm/mpi/endpoint.h"

#include <limits>

#include "veche/comm/neighbourhood.h"
#include "veche/comm/parts.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Clock = Mailbox::Clock;

class MpiEndpoint : public Endpoint, private EngineCollectives {
 public:
  MpiEndpoint(std::shared_ptr<MpiShared> shared, NodeId id)
      : shared_(std::move(shared)),
        progress_engine_(shared_->progress_engine),
        id_(id),
        mailbox_(progress_engine_.mailbox(id)),
        threads_(shared_->threads_of(id)) {}
  ~MpiEndpoint() override { progress_engine_.leave(id_); }

  NodeId id() const override { return id_; }
  int size() const override { return progress_engine_.placement().nodes; }

  void send(NodeId to, Tag tag, Message message) override {
    threads_.check();
    progress_engine_.placement().rank_of(to);  // refuses ids out of range
    if (!alive(to)) return;
    sent_bytes_ += message.size();
    sent_messages_ += 1;
    progress_engine_.send(id_, to, tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (from) progress_engine_.placement().rank_of(*from);
    const auto until = start_ + std::chrono::duration_cast<Clock::duration>(deadline);
    check();
    if (auto there = mailbox_.take(from, tag)) return std::move(*there);
    const Slots::Away away;
    Backoff backoff(progress_engine_.oversubscribed());
    for (;;) {
      check();
      const std::uint64_t seen = mailbox_.event_count();
      // Asked before its messages are looked for: what it sent before it was lost is read first.
      const bool lost = from && *from != id_ && !alive(*from);
      if (auto there = mailbox_.take(from, tag)) return std::move(*there);
      if (lost && !mailbox_.expects(*from, tag)) return {Received::Outcome::peer_lost, *from, {}};
      const auto may_send = [&](NodeId peer) {
        return peer == id_ || alive(peer) || mailbox_.expects(peer, tag);
      };
      if (!from && mailbox_.told_of_losses())
        if (const auto peer = mailbox_.next_loss(tag, size(), may_send))
          return {Received::Outcome::peer_lost, *peer, {}};
      if (progress_engine_.poll()) {
        backoff.reset();
        continue;
      }
      if (Clock::now() >= until) return {Received::Outcome::timed_out, from.value_or(id_), {}};
      if (const auto length = backoff.next(); length > Backoff::Duration::zero())
        mailbox_.wait_for_event(seen, std::min(until, Clock::now() + length));
    }
  }

  void spawn(std::function<void()> helper) override { threads_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    check();
    const Slots::Turn turn(shared_->slots, what.step);
    const Clock::time_point start = Clock::now();
    work();
    return Clock::now() - start;
  }

  Time now() const override { return Clock::now() - start_; }
  bool alive(NodeId peer) const override { return progress_engine_.alive(peer); }
  Traffic sent() const override { return {sent_bytes_, sent_messages_}; }
  EngineCollectives* collectives() override { return shared_->sums ? this : nullptr; }

 private:
  // Before and inside every wait: throws when the node has ended or a helper has failed, or the job has.
  void check() const {
    threads_.check();
    if (const int rank = progress_engine_.job().failed; rank >= 0)
      throw PeerLost(NodeId{progress_engine_.placement().first_of(rank)}, "is gone: its rank has failed");
  }

  bool overlaps() const override { return true; }
  bool between_hosts() const override {
    return progress_engine_.placement().ranks > 1 && !shared_->window_sums;
  }

  void begin_all_reduce(Tag tag, std::span<float> data) override {
    check();
    ++ahead_;
    shared_->sums->begin(id_, tag, data);
  }

  Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) override {
    check();
    const Slots::Away away;
    const Outcome outcome = sum(tag, data, deadline);
    if (outcome.outcome != Received::Outcome::message) check();
    return outcome;
  }

  Outcome sum(Tag tag, std::span<float> data, Time deadline) {
    const auto until = start_ + std::chrono::duration_cast<Clock::duration>(deadline);
    MpiSums& sums = *shared_->sums;
    const bool begun = ahead_ > 0 && sums.has_begun(id_, tag);
    if (!begun && shared_->window_sums && shared_->window_sums->is_best_for(data.size())) {
      if (const auto missing = shared_->window_sums->sum(id_, data, until)) {
        progress_engine_.job().given_up = true;  // the others may be anywhere in it
        return {
            missing->lost ? Received::Outcome::peer_lost : Received::Outcome::timed_out, missing->node, {}};
      }
      return done(data, shared_->window_sums->take_slept(id_));
    }
    if (begun) --ahead_;
    const MpiSums::End end = begun ? sums.finish(id_, tag, data, until) : sums.whole(id_, tag, data, until);
    return end == MpiSums::End::done ? done(data, Time(0)) : missing(end);
  }

  // What happens inside is the engine's own affair: counted as the least that any way must send.
  Outcome done(std::span<float> data, Time waited) {
    const std::size_t own = part_of(data, size(), id_.value).size();
    const auto others = static_cast<std::size_t>(size() - 1);
    const Traffic traffic{(data.size() - own + others * own) * sizeof(float), 2 * others};
    sent_bytes_ += traffic.bytes;
    sent_messages_ += traffic.messages;
    return {Received::Outcome::message, id_, traffic, waited};
  }

  std::unique_ptr<Neighbourhood> neighbourhood(std::span<const NodeId> sources,
                                               std::span<const NodeId> readers, std::size_t length) override {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();  // MPI counts with int
    if (!shared_->neighbours || length > kMost) return nullptr;
    return std::make_unique<Counted>(*this, shared_->neighbours->make(sources, readers, length, start_));
  }

  // A neighbourhood whose traffic is this endpoint's.
  class Counted : public Neighbourhood {
   public:
    Counted(MpiEndpoint& endpoint, std::unique_ptr<Neighbourhood> inner)
        : endpoint_(endpoint), inner_(std::move(inner)) {}
    std::span<float> mine() override { return inner_->mine(); }
    std::span<const float> from(std::size_t source) const override { return inner_->from(source); }
    Outcome exchange(Time deadline) override {
      endpoint_.check();
      const Slots::Away away;
      const Outcome outcome = inner_->exchange(deadline);
      if (outcome.outcome != Received::Outcome::message) endpoint_.check();
      endpoint_.sent_bytes_ += outcome.sent.bytes;
      endpoint_.sent_messages_ += outcome.sent.messages;
      return outcome;
    }

   private:
    MpiEndpoint& endpoint_;
    const std::unique_ptr<Neighbourhood> inner_;
  };

  Outcome missing(MpiSums::End end) const {
    progress_engine_.job().given_up = true;  // MPI cannot take back what the others have begun
    Outcome outcome;
    outcome.missing = wrapped(id_.value + 1, size());  // MPI does not tell who is missing
    if (end == MpiSums::End::lost) {
      outcome.outcome = Received::Outcome::peer_lost;
      outcome.missing = progress_engine_.first_lost().value_or(outcome.missing);
    }
    return outcome;
  }

  const std::shared_ptr<MpiShared> shared_;
  ProgressEngine& progress_engine_;
  const NodeId id_;
  Mailbox& mailbox_;
  NodeThreads& threads_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<int> ahead_ = 0;  // sums begun and not finished
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
};

}  // namespace

std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<MpiShared> shared, NodeId id) {
  return std::make_unique<MpiEndpoint>(std::move(shared), id);
}

}  // namespace veche
