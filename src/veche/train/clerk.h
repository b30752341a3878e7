#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "veche/data/dataset.h"
#include "veche/model/learner.h"
#include "veche/train/checkpointer.h"
#include "veche/train/glance.h"
#include "veche/train/observer.h"
#include "veche/train/slots.h"

namespace veche {

struct LoopPlan;

// Nodes that each go at their own pace never meet, so somebody must count their steps, tell how it goes, look
// at their models and say when to end: the clerk, a thread beside node 0. Nodes tell it what they do and obey
// its orders between two steps of their own; nobody waits for anybody.

inline constexpr Tag kToldTag{0x300};      // node -> clerk: Told
inline constexpr Tag kOrderTag{0x301};     // clerk -> node: Order
inline constexpr Tag kSnapshotTag{0x302};  // node -> clerk: parameters, buffers, NodeReport
inline constexpr Tag kSavedTag{0x303};     // node -> clerk: the checkpoint's number

struct Told {
  Glance glance;
  std::uint64_t steps = 0;  // of its own, in all
};

struct Order {
  enum class Kind { progress, snapshot, save, stop } kind = Kind::progress;
  std::uint64_t step = 0;            // steps a node has made on the average; names the checkpoint
  std::array<char, 24> reason = {};  // of `stop`
};

class Clerk {
 public:
  struct Parts {
    Endpoint& endpoint;
    const LoopPlan& plan;
    std::size_t parameters = 0;                       // of a model
    int trainers = 0;                                 // the last ones of the nodes; those before only serve
    std::function<std::unique_ptr<Learner>()> spare;  // to test models with while the nodes train theirs
    const Dataset* test = nullptr;
    Slots& slots;
    const std::atomic<bool>& interrupted;
    Observer* observer = nullptr;
    Checkpointer* checkpointer = nullptr;
    std::function<double(std::uint64_t step)> rate;
    std::uint64_t first_step = 0;  // of the checkpoint the run goes on from
  };
  explicit Clerk(Parts parts);
  ~Clerk();
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;

  // Waits until it has put everything away, once it has told the nodes to stop. Throws what it threw.
  void join();

 private:
  struct Desk;
  std::atomic<bool> abandoned_ = false;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace veche
