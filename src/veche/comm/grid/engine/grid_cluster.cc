#include "veche/comm/grid/engine/grid_cluster.h"

#include <stdexcept>
#include <string>

#include "veche/comm/real_time_endpoint.h"
#include "veche/comm/views.h"

namespace veche::grid {

namespace {
using Clock = std::chrono::steady_clock;
}  // namespace

int Seating::nodes() const { return first_of(seats.size()); }

int Seating::first_of(std::size_t seat) const {
  int first = 0;
  for (std::size_t i = 0; i < seat; ++i) first += seats[i].nodes;
  return first;
}

std::size_t Seating::seat_of(NodeId node) const {
  int first = 0;
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    first += seats[seat].nodes;
    if (node.value >= 0 && node.value < first) return seat;
  }
  throw std::out_of_range("there is no node " + std::to_string(node.value));
}

struct GridCluster::Shared {
  Shared(std::shared_ptr<Links> given, Seating where, int slot_count, int processes)
      : links(std::move(given)),
        seating(std::move(where)),
        nodes(seating.nodes()),
        first(seating.first_of(seating.mine)),
        count(seating.seats[seating.mine].nodes),
        slots(slot_count, processes),
        mailboxes(static_cast<std::size_t>(count)),
        alive(static_cast<std::size_t>(nodes)) {
    for (auto& flag : alive) flag = true;
    for (int node = 0; node < nodes; ++node) seat_of.push_back(seating.seat_of(NodeId{node}));
    for (int i = 0; i < count; ++i) threads.emplace_back([this, i] { leave(NodeId{first + i}); });
  }

  bool is_here(NodeId node) const { return node.value >= first && node.value < first + count; }
  Mailbox& mailbox(NodeId local) { return mailboxes.at(static_cast<std::size_t>(local.value - first)); }
  NodeThreads& threads_of(NodeId local) { return threads.at(static_cast<std::size_t>(local.value - first)); }
  const Seating::Seat& seat(NodeId node) const {
    return seating.seats[seat_of.at(static_cast<std::size_t>(node.value))];
  }
  const MemberId& member_of(NodeId node) const { return seat(node).member; }
  bool is_alive(NodeId node) const { return alive.at(static_cast<std::size_t>(node.value)); }

  void lose(NodeId node) {
    alive[static_cast<std::size_t>(node.value)] = false;
    lost_any = true;
    wake_all();
  }
  void wake_all() {
    for (Mailbox& mailbox : mailboxes) mailbox.wake_all();
  }

  // A node here cannot continue, or has ended: all others learn it after its last messages.
  void leave(NodeId node) {
    const bool first_time = alive[static_cast<std::size_t>(node.value)].exchange(false);
    lost_any = true;
    wake_all();
    if (!first_time || ended) return;
    for (std::size_t i = 0; i < seating.seats.size(); ++i)
      if (i != seating.mine)
        links->send_ended(seating.seats[i].recipient(),
                          {seating.view, 0, 0, static_cast<std::uint32_t>(node.value), 0});
  }

  void check() const {
    if (ended) throw ViewChanged();
  }

  const std::shared_ptr<Links> links;
  const Seating seating;
  const int nodes, first, count;
  std::vector<std::size_t> seat_of;
  const Clock::time_point start = Clock::now();
  Slots slots;
  std::vector<Mailbox> mailboxes;  // of the local nodes
  std::vector<std::atomic<bool>> alive;
  std::atomic<bool> lost_any = false;
  std::atomic<bool> ended = false;
  std::function<void(Time)> computed;
  std::deque<NodeThreads> threads;  // declared last: helpers use all of the above
};

class GridEndpoint final : public RealTimeEndpoint<GridEndpoint> {
 public:
  GridEndpoint(std::shared_ptr<GridCluster::Shared> shared, NodeId id)
      : RealTimeEndpoint({id, shared->nodes}, {shared->mailbox(id), shared->threads_of(id), shared->slots},
                         shared->start),
        shared_(std::move(shared)) {}
  ~GridEndpoint() override {
    if (alive(id())) shared_->leave(id());
  }

  bool alive(NodeId peer) const override { return shared_->is_alive(peer); }

 private:
  friend class RealTimeEndpoint<GridEndpoint>;

  void deliver(NodeId to, Tag tag, Message message) {
    if (shared_->is_here(to)) return shared_->mailbox(to).put(id(), tag, std::move(message));
    const DataHead head{shared_->seating.view, tag.value, message.size(),
                        static_cast<std::uint32_t>(id().value), static_cast<std::uint32_t>(to.value)};
    shared_->links->send(shared_->seat(to).recipient(), head, std::move(message),
                         [&] { return alive(to) && !shared_->ended; });
  }
  bool lost_any() const { return shared_->lost_any; }
  // Not asked by check_call: a slow node still reads what had arrived before the view ended.
  void check_wait() const {
    threads_.check();
    shared_->check();
  }
  void computed(Time took) {
    if (shared_->computed) shared_->computed(took);
  }

  const std::shared_ptr<GridCluster::Shared> shared_;
};

GridCluster::GridCluster(std::shared_ptr<Links> links, Seating seating, int slots, int processes)
    : shared_(std::make_shared<Shared>(std::move(links), std::move(seating), slots, processes)) {}

std::vector<NodeId> GridCluster::here() const {
  std::vector<NodeId> nodes;
  for (int i = 0; i < shared_->count; ++i) nodes.push_back(NodeId{shared_->first + i});
  return nodes;
}

std::unique_ptr<Endpoint> GridCluster::endpoint(NodeId node) {
  return std::make_unique<GridEndpoint>(shared_, node);
}

void GridCluster::run(const std::function<void(NodeId)>& body) {
  run_as_threads(here(), body, [this](NodeId node) -> NodeThreads& { return shared_->threads_of(node); });
}

void GridCluster::on_compute(std::function<void(Time)> listener) { shared_->computed = std::move(listener); }

const Seating& GridCluster::seating() const { return shared_->seating; }

void GridCluster::deliver(const MemberId& from, const DataHead& head, bool ended, Message message) {
  const NodeId sender{static_cast<int>(head.from)};
  if (head.from >= static_cast<std::uint32_t>(shared_->nodes) || shared_->member_of(sender) != from) return;
  if (ended) return shared_->lose(sender);
  const NodeId reader{static_cast<int>(head.to)};
  if (head.to < static_cast<std::uint32_t>(shared_->nodes) && shared_->is_here(reader))
    shared_->mailbox(reader).put(sender, Tag{head.tag}, std::move(message));
}

void GridCluster::lose(const MemberId& member) {
  for (int node = 0; node < shared_->nodes; ++node)
    if (shared_->member_of(NodeId{node}) == member) shared_->lose(NodeId{node});
}

void GridCluster::end_view() {
  shared_->ended = true;
  shared_->wake_all();
}

void ViewRouter::present(std::shared_ptr<GridCluster> cluster) {
  const MutexLock lock(mutex_);
  present_ = std::move(cluster);
  if (!present_) return;
  const std::uint64_t view = present_->seating().view;
  for (Held& held : held_)
    if (held.head.view == view) present_->deliver(held.from, held.head, held.ended, std::move(held.message));
  std::erase_if(held_, [&](const Held& held) { return held.head.view <= view; });
  held_bytes_ = 0;
  for (const Held& held : held_) held_bytes_ += held.message.size();
}

std::shared_ptr<GridCluster> ViewRouter::present() const {
  const MutexLock lock(mutex_);
  return present_;
}

bool ViewRouter::deliver(const MemberId& from, const DataHead& head, bool ended, Message message) {
  const MutexLock lock(mutex_);
  const std::uint64_t view = present_ ? present_->seating().view : 0;
  if (head.view < view) return true;
  if (head.view == view && present_) {
    present_->deliver(from, head, ended, std::move(message));
    return true;
  }
  if (held_bytes_ + message.size() > kMostHeld) return false;
  held_bytes_ += message.size();
  held_.push_back({from, head, ended, std::move(message)});
  return true;
}

}  // namespace veche::grid
