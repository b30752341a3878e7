#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "veche/comm/endpoint.h"
#include "veche/comm/threads/news.h"

namespace veche {

// Where the nodes of one process meet to add up their vectors in place: nobody copies anything.
// The last to arrive opens the work, which is cut into blocks: whoever is awake takes the next one, adds it
// up over all nodes in their order and writes the sum into everybody's vector. So two cores do the work of
// sixteen nodes without waking sixteen threads first, and short vectors are added up by the last one alone.
// Who does a block changes no bit. One operation at a time: a node begins the next only after it has left the
// one before.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Meeting(int nodes);

  struct Missing {
    NodeId node;
    bool lost = false;  // else it did not come in time
  };

  // Returns nothing when everybody's data are the sum; else who was missing, and then no data were changed.
  // `first_lost` tells which node is lost, if any is.
  std::optional<Missing> all_reduce(NodeId me, std::span<float> data, Clock::time_point deadline,
                                    const std::function<std::optional<NodeId>()>& first_lost);

  // How long `me` has slept in here since it last asked.
  Clock::duration take_slept(NodeId me) {
    return std::exchange(places_[static_cast<std::size_t>(me.value)].slept, Clock::duration{0});
  }

  // Somebody was lost: those who wait look again.
  void wake_all() { news_.tell_all(); }

 private:
  struct Place {
    std::span<float> data;                     // written before arriving, read when all have arrived
    std::atomic<std::uint32_t> operation = 0;  // the one it came for last
    int pauses = 64;                           // looks before it offers its core to others; its own
    Clock::duration slept{0};                  // its own
  };
  // An operation's number and what is counted in it, changed together: a late-comer can never touch the next
  // operation.
  struct Arrivals {
    std::uint32_t operation = 0;
    std::uint32_t count = 0;
    auto operator<=>(const Arrivals&) const = default;
  };
  // Blocks [from, to) that nobody has taken yet.
  struct Blocks {
    std::uint32_t operation = 0;
    std::uint16_t from = 0;
    std::uint16_t to = 0;
    auto operator<=>(const Blocks&) const = default;
  };

  bool arrive();
  bool withdraw(std::uint32_t operation);
  void open(std::uint32_t operation, std::size_t length);
  bool work(std::uint32_t operation);
  void add_up(std::size_t block);
  bool finished(std::uint32_t operation) const;
  bool has_work(std::uint32_t operation) const;
  std::optional<NodeId> first_absent(std::uint32_t operation) const;

  const int nodes_;
  std::vector<Place> places_;

  std::atomic<Arrivals> arrived_ = Arrivals{1, 0};
  std::atomic<Blocks> blocks_ = Blocks{};
  std::atomic<std::size_t> unfinished_ = 0;  // blocks
  std::atomic<std::uint32_t> finished_ = 0;  // the last operation that is done
  std::size_t block_length_ = 0;  // of the operation under way; written before its blocks are given out

  News news_;  // there is work, it is finished, or somebody was lost
};

}  // namespace veche
