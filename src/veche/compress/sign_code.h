#pragma once

#include "veche/compress/codec.h"
#include "veche/compress/tensor_runs.h"

namespace veche {

// Format of signs: a scale per tensor; one bit per block of 256 floats, set if it contains zeros;
// one bit per float, set if negative; and for each block with zeros, one bit per float, set if
// nonzero.
class SignCode {
 public:
  explicit SignCode(const StreamShape& shape) : runs_(tensor_runs(shape)), length_(shape.length) {}

  struct Parts {
    const float* scales = nullptr;
    const std::uint8_t* with_zeros = nullptr;
    const std::uint8_t* negative = nullptr;
    const std::uint8_t* present = nullptr;
  };
  Message write(std::span<const float> x, MessagePool& pool);
  Parts read(std::span<const std::byte> code) const;
  // into += sizes[t] * sign, for tensor t
  void add(const Parts& code, std::span<const float> sizes, std::span<float> into) const;

  const std::vector<TensorRun>& runs() const { return runs_; }
  std::size_t most_bytes() const;

 private:
  std::size_t block_bytes(std::size_t block) const;

  const std::vector<TensorRun> runs_;
  const std::size_t length_;
  std::vector<std::uint8_t> with_zeros_, negative_, present_;  // of the code being written
};

}  // namespace veche
