#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/batch.h"
#include "veche/data/feed/sample_reader.h"
#include "veche/data/sets/bulk_samples.h"
#include "veche/dataset.h"
#include "veche/random.h"

namespace veche {

// The memory of a batch, into which the samples of any task are read one by one. One thread at a
// time.
class BatchStorage {
 public:
  BatchStorage() = default;
  // For training. Throws std::invalid_argument if a set of floats is to be augmented.
  BatchStorage(const Dataset& data, const Augmentation& changes) : reader_(data, changes) {}

  enum class What { samples, targets };  // targets: without the inputs that are no tokens
  // Makes room for up to `most` samples of `data`, which must outlive their reading. Allocates only
  // when it grows.
  void make_room(const Dataset& data, std::size_t most, What what = What::samples);
  // Reads a sample to a place of the batch. With `random`: augmented as configured, and
  // the window of a text moved.
  void read(std::size_t index, std::size_t place, const RandomStream* random = nullptr);
  // The set is read a batch at a time: `read_many` instead of `read`.
  bool bulk() const { return from_.bulk != nullptr; }
  // Reads samples to the first places.
  void read_many(std::span<const std::uint32_t> samples);
  // The same of `count` consecutive samples.
  void read_many(std::size_t from, std::size_t count);
  // The first `count` places.
  Batch batch(std::size_t count) const;

 private:
  // Of the set, asked once: a batch is read in less time than many virtual calls take.
  struct Source {
    const Dataset* data = nullptr;
    const TokenSamples* tokens = nullptr;
    const ValueTargets* values = nullptr;
    const TargetWeights* weights = nullptr;
    const BulkSamples* bulk = nullptr;
    Shape shape;
    std::size_t targets = 1;  // of a sample
    bool inputs = true;       // read, too
  };

  Source from_;
  SampleReader reader_;
  std::vector<float> inputs_, values_, weights_;
  std::vector<std::int64_t> labels_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> numbers_;  // of consecutive samples
};

}  // namespace veche
