#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "veche/strategy.h"
#include "veche/train/compression/coded_sum.h"

namespace veche {

// Sums parts of vectors over all nodes in a helper, while the node trains. All nodes begin the same
// sums in the same order. Belongs to the node's thread; what the helper uses is its own.
class BackgroundSum {
 public:
  struct Part {
    std::size_t from = 0, length = 0;  // in the learner's vector
  };
  // `context` outlives it, and the helper has ended before it is destroyed: the engine joins
  // helpers when the node ends.
  BackgroundSum(StrategyContext& context, std::vector<Part> parts);

  bool has_codec() const { return coder_.on(); }
  bool codes(std::uint64_t step) const { return coder_.codes(step); }
  // Starts the helper.
  void start();
  // Begins the sum of a part over all nodes; at most one at a time. Never waits.
  void begin(std::size_t part, std::span<const float> values, bool coded);
  bool under_way() const { return under_way_; }
  // Waits for the sum that was begun. The span is valid until the next one ends. Throws PeerLost.
  std::span<const float> wait();

  // Only while no sum is under way.
  void add_state(SavedState& state);
  // Of the sums that `wait` has returned, also those before the run was resumed.
  Coding coding() const { return begun_ ? done_.coding : counted(); }

 private:
  struct Order {
    std::uint64_t part = 0, coded = 0;
  };
  struct Done {
    std::uint64_t bytes = 0, messages = 0;  // sent by the helper for this sum
    Coding coding = {};                     // of all sums
    std::uint64_t lost = 0;                 // 1 + the node without which the sum failed; 0: it is whole
  };
  void help();
  Done sum(const Order& order);
  Coding counted() const;

  StrategyContext& context_;
  const std::vector<Part> parts_;
  const Channel orders_, results_;
  bool under_way_ = false;
  bool begun_ = false;  // the helper may be counting
  Done done_;
  Message result_;
  // The helper's:
  Coder coder_;
  AdaptiveTimeout timeout_;
  Channel sums_;
  std::vector<std::unique_ptr<CodedSum>> coded_;  // by part; empty without a codec
  std::vector<float> values_;
};

}  // namespace veche
