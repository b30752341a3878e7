#include "veche/comm/mpi/endpoint.h"

namespace veche {
namespace {

using Clock = Mailbox::Clock;

class MpiEndpoint : public Endpoint {
 public:
  MpiEndpoint(std::shared_ptr<PostOffice> office, NodeId id)
      : office_(std::move(office)), id_(id), mailbox_(office_->mailbox(id)) {}
  ~MpiEndpoint() override { office_->farewell(id_); }

  NodeId id() const override { return id_; }
  int size() const override { return office_->placement().nodes; }

  void send(NodeId to, Tag tag, Message message) override {
    office_->placement().rank_of(to);  // refuses ids out of range
    if (!alive(to)) return;
    sent_bytes_ += message.size();
    sent_messages_ += 1;
    office_->send(id_, to, tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (from) office_->placement().rank_of(*from);
    const auto until = start_ + std::chrono::duration_cast<Clock::duration>(deadline);
    Nap nap(office_->crowded());
    for (;;) {
      const std::uint64_t seen = mailbox_.news();
      // Asked before looking for its messages: what it sent before it was lost is read first.
      const bool lost = from && *from != id_ && !alive(*from);
      if (auto letter = mailbox_.take(from, tag)) return std::move(*letter);
      if (lost && !mailbox_.expects(*from, tag)) return {Received::Outcome::peer_lost, *from, {}};
      if (office_->look()) {
        nap.reset();
        continue;
      }
      if (Clock::now() >= until) return {Received::Outcome::timed_out, from.value_or(id_), {}};
      if (const auto length = nap.next(); length > Nap::Duration::zero())
        mailbox_.wait_for_news(seen, std::min(until, Clock::now() + length));
    }
  }

  Time now() const override { return Clock::now() - start_; }
  bool alive(NodeId peer) const override { return office_->alive(peer); }
  Traffic sent() const override { return {sent_bytes_, sent_messages_}; }

 private:
  const std::shared_ptr<PostOffice> office_;
  const NodeId id_;
  Mailbox& mailbox_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
};

}  // namespace

std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<PostOffice> office, NodeId id) {
  return std::make_unique<MpiEndpoint>(std::move(office), id);
}

}  // namespace veche
