#include "veche/comm/mpi/endpoint.h"

#include <limits>

#include "veche/comm/neighbourhood.h"
#include "veche/comm/real_time_endpoint.h"
#include "veche/errors.h"

namespace veche {
namespace {

class MpiEndpoint final : public RealTimeEndpoint<MpiEndpoint>, private EngineCollectives {
 public:
  MpiEndpoint(std::shared_ptr<MpiShared> shared, NodeId id)
      : RealTimeEndpoint({id, shared->progress_engine.placement().nodes},
                         {shared->progress_engine.mailbox(id), shared->threads_of(id), shared->slots},
                         Clock::now()),
        shared_(std::move(shared)),
        progress_engine_(shared_->progress_engine) {}
  ~MpiEndpoint() override { progress_engine_.leave(id()); }

  bool alive(NodeId peer) const override { return progress_engine_.alive(peer); }
  EngineCollectives* collectives() override { return shared_->sums ? this : nullptr; }

 private:
  friend class RealTimeEndpoint<MpiEndpoint>;

  void deliver(NodeId to, Tag tag, Message message) {
    progress_engine_.send(id(), to, tag, std::move(message));
  }
  bool lost_any() const { return mailbox_.told_of_losses(); }

  // Also throws when the job has failed: nothing more is read then.
  void check_call() const { check_wait(); }
  void check_wait() const {
    threads_.check();
    if (const int rank = progress_engine_.job().failed; rank >= 0)
      throw PeerLost(NodeId{progress_engine_.placement().first_of(rank)}, "is gone: its rank has failed");
  }

  // A waiter polls MPI.
  Received wait(std::optional<NodeId> from, Tag tag, Clock::time_point until) {
    Backoff backoff(progress_engine_.oversubscribed());
    for (;;) {
      check_wait();
      const std::uint64_t seen = mailbox_.event_count();
      // Checked before looking for messages: messages sent before the loss are read first.
      const bool lost = from && *from != id() && !alive(*from);
      if (auto there = mailbox_.take(from, tag)) return std::move(*there);
      if (lost && !mailbox_.expects(*from, tag)) return {Received::Outcome::peer_lost, *from, {}};
      const auto may_send = [&](NodeId peer) {
        return peer == id() || alive(peer) || mailbox_.expects(peer, tag);
      };
      if (!from && lost_any())
        if (const auto peer = mailbox_.next_loss(tag, size(), may_send))
          return {Received::Outcome::peer_lost, *peer, {}};
      if (progress_engine_.poll()) {
        backoff.reset();
        continue;
      }
      if (Clock::now() >= until) return {Received::Outcome::timed_out, id(), {}};
      if (const auto length = backoff.next(); length > Backoff::Duration::zero())
        mailbox_.wait_for_event(seen, std::min(until, Clock::now() + length));
    }
  }

  bool overlaps() const override { return true; }
  bool between_hosts() const override {
    return progress_engine_.placement().ranks > 1 && !shared_->window_sums;
  }

  void begin_all_reduce(Tag tag, std::span<float> data) override {
    check_wait();
    ++ahead_;
    shared_->sums->begin(id(), tag, data);
  }

  Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) override {
    check_wait();
    const Slots::Away away;
    const Outcome outcome = sum(tag, data, deadline);
    if (outcome.outcome != Received::Outcome::message) check_wait();
    return outcome;
  }

  Outcome sum(Tag tag, std::span<float> data, Time deadline) {
    const Clock::time_point until = at(deadline);
    MpiSums& sums = *shared_->sums;
    const bool begun = ahead_ > 0 && sums.has_begun(id(), tag);
    if (!begun && shared_->window_sums && shared_->window_sums->is_best_for(data.size())) {
      if (const auto missing = shared_->window_sums->sum(id(), data, until)) {
        progress_engine_.job().given_up = true;  // the others may be anywhere in it
        return {
            missing->lost ? Received::Outcome::peer_lost : Received::Outcome::timed_out, missing->node, {}};
      }
      return count_all_reduce(data, shared_->window_sums->take_slept(id()));
    }
    if (begun) --ahead_;
    const MpiSums::End end = begun ? sums.finish(id(), tag, data, until) : sums.whole(id(), tag, data, until);
    return end == MpiSums::End::done ? count_all_reduce(data, Time(0)) : missing(end);
  }

  std::unique_ptr<Neighbourhood> neighbourhood(std::span<const NodeId> sources,
                                               std::span<const NodeId> readers, std::size_t length) override {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();  // MPI counts with int
    if (!shared_->neighbours || length > kMost) return nullptr;
    return std::make_unique<Counted>(*this, shared_->neighbours->make(sources, readers, length, start_));
  }

  // A neighbourhood whose traffic is counted by this endpoint.
  class Counted : public Neighbourhood {
   public:
    Counted(MpiEndpoint& endpoint, std::unique_ptr<Neighbourhood> inner)
        : endpoint_(endpoint), inner_(std::move(inner)) {}
    std::span<float> mine() override { return inner_->mine(); }
    std::span<const float> from(std::size_t source) const override { return inner_->from(source); }
    Outcome exchange(Time deadline) override {
      endpoint_.check_wait();
      const Slots::Away away;
      const Outcome outcome = inner_->exchange(deadline);
      if (outcome.outcome != Received::Outcome::message) endpoint_.check_wait();
      endpoint_.count_sent(outcome.sent);
      return outcome;
    }

   private:
    MpiEndpoint& endpoint_;
    const std::unique_ptr<Neighbourhood> inner_;
  };

  Outcome missing(MpiSums::End end) const {
    progress_engine_.job().given_up = true;  // MPI cannot undo what the others have begun
    Outcome outcome;
    outcome.missing = wrapped(id().value + 1, size());  // MPI does not tell which node is missing
    if (end == MpiSums::End::lost) {
      outcome.outcome = Received::Outcome::peer_lost;
      outcome.missing = progress_engine_.first_lost().value_or(outcome.missing);
    }
    return outcome;
  }

  const std::shared_ptr<MpiShared> shared_;
  ProgressEngine& progress_engine_;
  std::atomic<int> ahead_ = 0;  // sums begun and not finished
};

}  // namespace

std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<MpiShared> shared, NodeId id) {
  return std::make_unique<MpiEndpoint>(std::move(shared), id);
}

}  // namespace veche
