#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <span>

#include "veche/base/module_api.h"
#include "veche/comm/event_count.h"
#include "veche/endpoint.h"

namespace veche {

// The sum of the vectors of nodes that share memory, in one process or in several. The last node to
// arrive starts the work, which is divided into blocks: each node that is awake takes the next
// block and sums it over all nodes. So two cores do the work of sixteen nodes without waking
// sixteen threads, and the last node alone sums short vectors. One operation at a time: a node
// begins the next one after it has left the last.
class VECHE_MODULE_API SharedMemorySum {
 public:
  using Clock = std::chrono::steady_clock;

  // The work when all nodes have arrived.
  class Work {
   public:
    virtual ~Work() = default;
    // Sums items [from, to) over all nodes. The result does not depend on the caller or the order
    // of calls.
    virtual void add_up(std::size_t from, std::size_t to) = 0;
    virtual std::optional<NodeId> first_lost() const = 0;
    // Whether the nodes are in several processes, any of which may stop or end at any time. Waiting
    // nodes then wake up now and then to check, and leave at their deadline even if all have
    // arrived: no other node touches their memory.
    virtual bool between_processes() const { return false; }
  };

  // What a node keeps between operations.
  struct NodeState {
    int pauses = 64;           // polls before it yields its core
    Clock::duration slept{0};  // in this class, since it was last asked
  };

  // Shared by all nodes, all zero at first. Operations are numbered from one.
  struct State {
    alignas(64) std::atomic<std::uint64_t> arrivals;    // over all operations
    alignas(64) std::atomic<std::uint64_t> finished;    // number of the last completed operation
    std::atomic<std::uint64_t> blocks;                  // not taken yet: see Blocks
    std::atomic<std::uint64_t> block_length;            // written before blocks can be taken
    alignas(64) std::atomic<std::uint64_t> unfinished;  // blocks
    alignas(64) EventCount events;                      // work has begun or ended, or a node was lost
  };

  // `came`: for each node the last operation that it arrived for. Shared, zero at first.
  SharedMemorySum(State& state, std::span<std::atomic<std::uint64_t>> came) : state_(state), came_(came) {}

  struct Missing {
    NodeId node;
    bool lost = false;  // false: it did not arrive in time
  };

  // Returns nothing when the work is done; else the missing node, and then nothing was summed.
  std::optional<Missing> run(NodeId me, NodeState& node, std::size_t length, Clock::time_point deadline,
                             Work& work);

  // A node was lost: all waits check again.
  void wake_all() { state_.events.notify_all(); }

 private:
  void open(std::uint64_t operation, std::size_t length, Work& work);
  void finish(std::uint64_t operation);
  bool take_block(std::uint64_t operation, std::size_t length, Work& work);
  bool withdraw(std::uint64_t operation);
  bool has_work(std::uint64_t operation) const;
  bool finished(std::uint64_t operation) const {
    return state_.finished.load(std::memory_order_acquire) >= operation;
  }
  bool somebody_due_here(std::uint64_t operation) const;
  std::optional<NodeId> first_absent(std::uint64_t operation) const;

  State& state_;
  const std::span<std::atomic<std::uint64_t>> came_;
};

}  // namespace veche
