#include <algorithm>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/tensor_runs.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Small tensors as plain floats, followed by the code of the vector with zeros in their places.
// Long vectors lose next to nothing by the zeros, and the code can be added in place without a
// copy.
class SmallTensors final : public Codec {
 public:
  SmallTensors(std::unique_ptr<Codec> large, std::vector<TensorRun> small)
      : large_(std::move(large)), small_(std::move(small)), floats_(total_length(small_)) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    rest_.assign(x.begin(), x.end());
    fill(small_, 0, rest_);
    const Message inner = large_->encode(rest_, round, pool);
    CodeWriter code(pool, floats_ * sizeof(float) + inner.size());
    gather(small_, x, code.room<float>(floats_));
    code.put_bytes(inner.bytes());
    return std::move(code).message();
  }

  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const float* const floats = reader.items<float>(floats_);
    large_->add_decoded(reader.rest(), weight, into);
    add_gathered(small_, floats, weight, into);
  }

  std::size_t most_bytes() const override { return floats_ * sizeof(float) + large_->most_bytes(); }
  SavedState state() override { return large_->state(); }
  double remembered_norm() const override { return large_->remembered_norm(); }

 private:
  const std::unique_ptr<Codec> large_;
  const std::vector<TensorRun> small_;
  const std::size_t floats_;
  std::vector<float> rest_;
};

// Error feedback: the part that a code leaves out is added to the next vector: v = x + e, code of
// v, e = v - decoded code.
class ErrorFeedback final : public Codec {
 public:
  ErrorFeedback(std::unique_ptr<Codec> codec, std::size_t length)
      : codec_(std::move(codec)), length_(length) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    error_.resize(length_);
    add(error_, x);
    Message code = codec_->encode(error_, round, pool);
    codec_->add_decoded(code.bytes(), -1, error_);
    return code;
  }

  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    codec_->add_decoded(code, weight, into);
  }

  std::size_t most_bytes() const override { return codec_->most_bytes(); }

  SavedState state() override {
    error_.resize(length_);
    SavedState state = codec_->state();
    state.vectors.emplace_back(error_);
    return state;
  }

  double remembered_norm() const override { return std::sqrt(squared_norm(error_)); }

 private:
  const std::unique_ptr<Codec> codec_;
  const std::size_t length_;
  std::vector<float> error_;
};

}  // namespace

std::unique_ptr<Codec> with_small_tensors(std::unique_ptr<Codec> large, const StreamShape& shape) {
  std::vector<TensorRun> small = small_runs(shape);
  if (small.empty()) return large;
  if (total_length(small) == shape.length) return make_raw_codec(shape);
  return std::make_unique<SmallTensors>(std::move(large), std::move(small));
}

std::unique_ptr<Codec> with_error_feedback(std::unique_ptr<Codec> codec, std::size_t length) {
  return std::make_unique<ErrorFeedback>(std::move(codec), length);
}

}  // namespace veche
