#include "veche/comm/threads/threads.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "veche/comm/engine_collectives.h"
#include "veche/comm/mailbox.h"
#include "veche/comm/node_threads.h"
#include "veche/comm/parts.h"
#include "veche/comm/slots.h"
#include "veche/comm/threads/thread_sum.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// Counted as long as it lives.
class Waiting {
 public:
  explicit Waiting(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Waiting() { --count_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

struct ThreadsCluster::Shared {
  Shared(int nodes, int slot_count)
      : slots(slot_count),
        mailboxes(static_cast<std::size_t>(nodes)),
        waiting(static_cast<std::size_t>(nodes)),
        alive(static_cast<std::size_t>(nodes)) {
    for (auto& flag : alive) flag = true;
    for (int i = 0; i < nodes; ++i) threads.emplace_back([this, i] { lose(NodeId{i}); });
  }

  // Whoever waits for it, or is its own helper, checks again.
  void lose(NodeId node) {
    alive[static_cast<std::size_t>(node.value)] = false;
    lost_any = true;
    for (std::size_t i = 0; i < mailboxes.size(); ++i)
      if (waiting[i] > 0) mailboxes[i].wake_all();
    const std::lock_guard lock(sums_mutex);
    for (auto& [tag, sum] : sums) sum.wake_all();
  }

  Mailbox& mailbox(NodeId node) {
    if (node.value < 0 || node.value >= static_cast<int>(mailboxes.size()))
      throw std::out_of_range("there is no node " + std::to_string(node.value));
    return mailboxes[static_cast<std::size_t>(node.value)];
  }

  // One for each conversation; stays where it is.
  ThreadSum& sum(Tag tag) {
    const std::lock_guard lock(sums_mutex);
    return sums.try_emplace(tag, static_cast<int>(mailboxes.size())).first->second;
  }

  std::optional<NodeId> first_lost() const {
    if (!lost_any) return {};
    for (std::size_t i = 0; i < alive.size(); ++i)
      if (!alive[i]) return NodeId{static_cast<int>(i)};
    return {};
  }

  const Clock::time_point start = Clock::now();
  Slots slots;
  std::vector<Mailbox> mailboxes;
  // By node: its threads that wait for messages, or are about to. Who is lost looks here, so that the end of
  // ten thousand nodes does not take ten thousand mutexes each. A waiter counts itself before it asks who is
  // alive; who is lost says so before it looks.
  std::vector<std::atomic<int>> waiting;
  std::vector<std::atomic<bool>> alive;
  std::atomic<bool> lost_any = false;
  std::mutex sums_mutex;
  std::map<Tag, ThreadSum> sums;                        // guarded by sums_mutex; each then guards itself
  std::map<Tag, std::vector<std::max_align_t>> memory;  // the map is guarded by sums_mutex
  std::deque<NodeThreads> threads;                      // last: helpers use all of the above
};

class ThreadsEndpoint : public Endpoint, private EngineCollectives {
 public:
  ThreadsEndpoint(std::shared_ptr<ThreadsCluster::Shared> shared, NodeId id)
      : shared_(std::move(shared)),
        id_(id),
        mailbox_(shared_->mailbox(id)),
        threads_(shared_->threads[static_cast<std::size_t>(id.value)]) {}

  ~ThreadsEndpoint() override {
    if (alive(id_)) shared_->lose(id_);
  }

  NodeId id() const override { return id_; }
  int size() const override { return static_cast<int>(shared_->mailboxes.size()); }

  void send(NodeId to, Tag tag, Message message) override {
    threads_.check();
    Mailbox& mailbox = shared_->mailbox(to);
    if (!alive(to)) return;
    sent_bytes_ += message.size();
    sent_messages_ += 1;
    mailbox.put(id_, tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (from) shared_->mailbox(*from);  // refuses ids out of range
    threads_.check();
    if (auto there = mailbox_.take(from, tag)) return std::move(*there);
    const Slots::Away away;
    const Waiting waiting(shared_->waiting[static_cast<std::size_t>(id_.value)]);
    const auto until = shared_->start + std::chrono::duration_cast<Clock::duration>(deadline);
    Received result = mailbox_.receive(from, tag, until, [&]() -> std::optional<NodeId> {
      threads_.check();
      if (!from && !shared_->lost_any) return {};
      if (!from) return mailbox_.next_loss(tag, size(), [this](NodeId peer) { return alive(peer); });
      return *from == id_ || alive(*from) ? std::nullopt : from;
    });
    if (result.outcome == Received::Outcome::timed_out) result.from = from.value_or(id_);
    return result;
  }

  Time now() const override { return Clock::now() - shared_->start; }
  bool alive(NodeId peer) const override { return shared_->alive.at(static_cast<std::size_t>(peer.value)); }
  Traffic sent() const override { return {sent_bytes_, sent_messages_}; }
  EngineCollectives* collectives() override { return this; }

  void spawn(std::function<void()> helper) override { threads_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    threads_.check();
    const Slots::Turn turn(shared_->slots, what.step);
    const Clock::time_point start = Clock::now();
    work();
    return Clock::now() - start;
  }

 private:
  EngineCollectives::Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) override {
    const auto until = shared_->start + std::chrono::duration_cast<Clock::duration>(deadline);
    ThreadSum& shared_sum = sum(tag);
    const Slots::Away away;
    const auto missing = shared_sum.all_reduce(id_, data, until, [this] { return shared_->first_lost(); });
    threads_.check();
    if (missing)
      return {missing->lost ? Received::Outcome::peer_lost : Received::Outcome::timed_out, missing->node, {}};
    // Reading in place stands for messages: parts to their owners, and the sum of the own part to everybody.
    const std::size_t own = part_of(data, size(), id_.value).size();
    const auto others = static_cast<std::size_t>(size() - 1);
    const Traffic traffic{(data.size() - own + others * own) * sizeof(float), 2 * others};
    sent_bytes_ += traffic.bytes;
    sent_messages_ += traffic.messages;
    return {Received::Outcome::message, id_, traffic, shared_sum.take_slept(id_)};
  }

  bool one_process() const override { return true; }

  std::span<std::byte> shared_memory(Tag tag, std::size_t bytes) override {
    const std::lock_guard lock(shared_->sums_mutex);
    std::vector<std::max_align_t>& memory = shared_->memory[tag];
    if (memory.empty()) memory.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    return std::as_writable_bytes(std::span(memory)).first(bytes);
  }

  // Remembered here, so that nodes do not queue for the map of all; mostly it is the one they used last.
  ThreadSum& sum(Tag tag) {
    if (const Known* last = last_.load(std::memory_order_acquire); last != nullptr && last->tag == tag)
      return *last->sum;
    const std::lock_guard lock(known_mutex_);
    const auto [at, added] = known_.try_emplace(tag, Known{tag, nullptr});
    if (added) at->second.sum = &shared_->sum(tag);
    last_.store(&at->second, std::memory_order_release);
    return *at->second.sum;
  }

  struct Known {
    Tag tag;
    ThreadSum* sum = nullptr;
  };

  const std::shared_ptr<ThreadsCluster::Shared> shared_;
  const NodeId id_;
  Mailbox& mailbox_;
  NodeThreads& threads_;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> sent_messages_ = 0;
  std::mutex known_mutex_;
  std::map<Tag, Known> known_;  // guarded by known_mutex_; an item stays as it is
  std::atomic<const Known*> last_ = nullptr;
};

ThreadsCluster::ThreadsCluster(int nodes, int slots) : shared_(std::make_shared<Shared>(nodes, slots)) {}

std::vector<NodeId> ThreadsCluster::here() const {
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < shared_->mailboxes.size(); ++i) all.push_back(NodeId{static_cast<int>(i)});
  return all;
}

std::unique_ptr<Endpoint> ThreadsCluster::endpoint(NodeId node) {
  shared_->mailbox(node);
  return std::make_unique<ThreadsEndpoint>(shared_, node);
}

void ThreadsCluster::run(const std::function<void(NodeId)>& body) {
  run_as_threads(here(), body, [this](NodeId node) -> NodeThreads& {
    return shared_->threads[static_cast<std::size_t>(node.value)];
  });
}

}  // namespace veche
