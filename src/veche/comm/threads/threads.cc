#include "veche/comm/threads/threads.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/real_time_endpoint.h"
#include "veche/comm/threads/thread_sum.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// Counted while it lives.
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

  // Waiters for the node, and its own helpers, check again.
  void lose(NodeId node) {
    alive[static_cast<std::size_t>(node.value)] = false;
    lost_any = true;
    for (std::size_t i = 0; i < mailboxes.size(); ++i)
      if (waiting[i] > 0) mailboxes[i].wake_all();
    const MutexLock lock(sums_mutex);
    for (auto& [tag, sum] : sums) sum.wake_all();
  }

  int size() const { return static_cast<int>(mailboxes.size()); }
  Mailbox& mailbox(NodeId node) {
    check_id(node, size());
    return mailboxes[static_cast<std::size_t>(node.value)];
  }

  // One per conversation; never moves.
  ThreadSum& sum(Tag tag) {
    const MutexLock lock(sums_mutex);
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
  // By node: its threads that wait for messages, or are about to. A lost node reads this, so that
  // the end of ten thousand nodes does not lock ten thousand mutexes each. A waiter counts itself
  // before it asks which nodes are alive; a lost node says so before it reads.
  std::vector<std::atomic<int>> waiting;
  std::vector<std::atomic<bool>> alive;
  std::atomic<bool> lost_any = false;
  Mutex sums_mutex;
  std::map<Tag, ThreadSum> sums VECHE_GUARDED_BY(sums_mutex);  // each then guards itself
  std::map<Tag, std::vector<std::max_align_t>> memory VECHE_GUARDED_BY(sums_mutex);
  std::deque<NodeThreads> threads;  // declared last: helpers use all of the above
};

class ThreadsEndpoint final : public RealTimeEndpoint<ThreadsEndpoint>, private EngineCollectives {
 public:
  ThreadsEndpoint(std::shared_ptr<ThreadsCluster::Shared> shared, NodeId id)
      : RealTimeEndpoint(
            {id, shared->size()},
            {shared->mailbox(id), shared->threads[static_cast<std::size_t>(id.value)], shared->slots},
            shared->start),
        shared_(std::move(shared)),
        waiting_(shared_->waiting[static_cast<std::size_t>(id.value)]) {}

  ~ThreadsEndpoint() override {
    if (alive(id())) shared_->lose(id());
  }

  bool alive(NodeId peer) const override { return shared_->alive.at(static_cast<std::size_t>(peer.value)); }
  EngineCollectives* collectives() override { return this; }

 private:
  friend class RealTimeEndpoint<ThreadsEndpoint>;

  void deliver(NodeId to, Tag tag, Message message) {
    shared_->mailboxes[static_cast<std::size_t>(to.value)].put(id(), tag, std::move(message));
  }
  bool lost_any() const { return shared_->lost_any; }
  Received wait(std::optional<NodeId> from, Tag tag, Clock::time_point until) {
    const Waiting waiting(waiting_);
    return RealTimeEndpoint::wait(from, tag, until);
  }

  EngineCollectives::Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) override {
    ThreadSum& shared_sum = sum(tag);
    const Slots::Away away;
    const auto missing =
        shared_sum.all_reduce(id(), data, at(deadline), [this] { return shared_->first_lost(); });
    threads_.check();
    if (missing)
      return {missing->lost ? Received::Outcome::peer_lost : Received::Outcome::timed_out, missing->node, {}};
    return count_all_reduce(data, shared_sum.take_slept(id()));
  }

  bool one_process() const override { return true; }

  std::span<std::byte> shared_memory(Tag tag, std::size_t bytes) override {
    const MutexLock lock(shared_->sums_mutex);
    std::vector<std::max_align_t>& memory = shared_->memory[tag];
    if (memory.empty()) memory.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    return std::as_writable_bytes(std::span(memory)).first(bytes);
  }

  // Cached here, so that nodes do not queue for the shared map; mostly the last one is used again.
  ThreadSum& sum(Tag tag) {
    if (const Known* last = last_.load(std::memory_order_acquire); last != nullptr && last->tag == tag)
      return *last->sum;
    const MutexLock lock(known_mutex_);
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
  std::atomic<int>& waiting_;
  Mutex known_mutex_;
  std::map<Tag, Known> known_ VECHE_GUARDED_BY(known_mutex_);  // an item stays as it is
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
