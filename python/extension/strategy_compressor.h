#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "extension/module.h"
#include "veche/compression.h"

namespace veche::python {

// The run's codec, as a strategy in Python that declares one uses it. Belongs to the strategy: it
// ends with the run.
class StrategyCompressor {
 public:
  explicit StrategyCompressor(StrategyContext& context) : context_(context), compressor_(context) {}

  bool on() const { return compressor_.on(); }
  bool codes(std::uint64_t step) const { return compressor_.codes(step); }
  double gamma() const { return compressor_.gamma(); }
  // The sum over all nodes, as floats when there is no codec.
  void sum(std::span<float> vector);

  // In the constructor of the strategy, so that a checkpoint finds the copies.
  void make_copies(const std::vector<int>& neighbours);
  ModelCopies& copies();
  StrategyContext& context() { return context_; }

  void add_state(SavedState& state);
  Coding coding() const;

 private:
  StrategyContext& context_;
  Compressor compressor_;
  std::optional<CompressedSum> sum_;
  std::optional<ModelCopies> copies_;
};

}  // namespace veche::python
