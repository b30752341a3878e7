#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <span>

#include "veche/base/module/module_api.h"
#include "veche/comm/event_count.h"
#include "veche/endpoint.h"

namespace veche {

// The sum of the vectors of nodes that share memory, in one process or in several. The last to arrive opens
// the work, which is cut into blocks: whoever is awake takes the next one and adds it up over all
// nodes. So two cores do the work of sixteen nodes without waking sixteen threads first, and short vectors
// are added up by the last one alone. One operation at a time: a node begins the next only after it has left
// the one before.
class VECHE_MODULE_API SharedMemorySum {
 public:
  using Clock = std::chrono::steady_clock;

  // What is to be done when all have come.
  class Work {
   public:
    virtual ~Work() = default;
    // Items [from, to) of everybody's; by whom and in which order changes no result.
    virtual void add_up(std::size_t from, std::size_t to) = 0;
    virtual std::optional<NodeId> first_lost() const = 0;
    // Whether the nodes are in several processes, of which one may stop or end without a word. Those who wait
    // then wake up now and then to check, and leave at their deadline though all have come: nobody touches
    // what is theirs.
    virtual bool between_processes() const { return false; }
  };

  // What a node remembers from one operation to the next.
  struct NodeState {
    int pauses = 64;           // polls before it offers its core to others
    Clock::duration slept{0};  // in here, until somebody takes note
  };

  // What all nodes see: in memory that they share, all zero at first. Numbers of operations begin with one.
  struct State {
    alignas(64) std::atomic<std::uint64_t> arrivals;    // over all operations
    alignas(64) std::atomic<std::uint64_t> finished;    // the last operation that is done
    std::atomic<std::uint64_t> blocks;                  // that nobody has taken yet: see Blocks
    std::atomic<std::uint64_t> block_length;            // written before blocks are given out
    alignas(64) std::atomic<std::uint64_t> unfinished;  // blocks
    alignas(64) EventCount events;                      // there is work, it is finished, or somebody was lost
  };

  // `came`, a number for each node: the operation that it came for last. Shared, and zero at first.
  SharedMemorySum(State& state, std::span<std::atomic<std::uint64_t>> came) : state_(state), came_(came) {}

  struct Missing {
    NodeId node;
    bool lost = false;  // else it did not come in time
  };

  // Returns nothing when the work is done; else who was missing, and then nothing was added up.
  std::optional<Missing> run(NodeId me, NodeState& node, std::size_t length, Clock::time_point deadline,
                             Work& work);

  // Somebody was lost: those who wait check again.
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
