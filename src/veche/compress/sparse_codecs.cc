// Codecs that send selected entries with their positions: threshold, topk, dgc.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/kernels/kernels.h"
#include "veche/compress/sparse_code.h"
#include "veche/compress/tensor_runs.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

class ThresholdCodec final : public Codec {
 public:
  ThresholdCodec(float least, std::size_t length) : least_(least), length_(length), code_(length) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    places_.resize(length_);
    const std::size_t found =
        kernels::find_large(x.data(), length_, std::bit_cast<std::uint32_t>(least_), places_.data());
    return code_.write(x, std::span(places_).first(found), pool);
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    code_.add(code, weight, into);
  }
  std::size_t most_bytes() const override { return code_.most_bytes(length_); }

 private:
  const float least_;
  const std::size_t length_;
  SparseCode code_;
  std::vector<std::uint32_t> places_;
};

class TopkCodec final : public Codec {
 public:
  TopkCodec(double part, std::size_t length) : count_(part_of_entries(part, length)), code_(length) {}

  Message encode(std::span<const float> x, std::uint64_t /*round*/, MessagePool& pool) override {
    return code_.write(x, largest_.find(x, count_), pool);
  }
  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    code_.add(code, weight, into);
  }
  std::size_t most_bytes() const override { return code_.most_bytes(count_); }

 private:
  const std::size_t count_;
  SparseCode code_;
  LargestEntries largest_;
};

// Deep gradient compression (Lin et al. 2018): u = momentum * u + g, v += u. The largest entries of
// v are sent, and u and v become zero there. Small tensors are sent whole, as u, before the rest.
class DgcCodec final : public Codec {
 public:
  DgcCodec(double part, StreamShape shape)
      : part_(part),
        shape_(std::move(shape)),
        small_(small_runs(shape_)),
        small_floats_(total_length(small_)),
        code_(shape_.length) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    remember();
    accumulate(x);
    const std::size_t large = shape_.length - small_floats_;
    const auto places = largest_.find(sums_, large == 0 ? 0 : part_of_entries(part_in(round), large));
    const Message entries = code_.write(sums_, places, pool);
    CodeWriter code(pool, small_floats_ * sizeof(float) + entries.size());
    gather(small_, velocity_, code.room<float>(small_floats_));
    code.put_bytes(entries.bytes());
    for (const std::uint32_t place : places) velocity_[place] = sums_[place] = 0;
    return std::move(code).message();
  }

  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const float* const floats = reader.items<float>(small_floats_);
    code_.add(reader.rest(), weight, into);
    add_gathered(small_, floats, weight, into);
  }

  std::size_t most_bytes() const override {
    return small_floats_ * sizeof(float) + code_.most_bytes(part_of_entries(part_in(0), shape_.length));
  }

  SavedState state() override {
    remember();
    return {.vectors = {velocity_, sums_}, .numbers = {}};
  }

  double remembered_norm() const override { return std::sqrt(squared_norm(sums_)); }

 private:
  void remember() {
    velocity_.resize(shape_.length);
    sums_.resize(shape_.length);
  }

  void accumulate(std::span<const float> x) {
    float factor = 1;
    if (shape_.clip > 0) {  // each node contributes a part of the variance
      const double most = static_cast<double>(shape_.clip) / std::sqrt(static_cast<double>(shape_.nodes));
      const double norm = std::sqrt(squared_norm(x));
      if (norm > most) factor = static_cast<float>(most / norm);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      velocity_[i] = shape_.momentum * velocity_[i] + factor * x[i];
      sums_[i] += velocity_[i];
    }
    fill(small_, 0, sums_);
  }

  // Warm-up: the fraction shrinks step by step.
  double part_in(std::uint64_t round) const {
    constexpr std::array kWarmUp{0.25, 0.063, 0.015, 0.004};
    if (shape_.rounds_per_epoch <= 0) return part_;
    const double epoch = static_cast<double>(round) / shape_.rounds_per_epoch;
    return epoch < kWarmUp.size() ? std::max(part_, kWarmUp.at(static_cast<std::size_t>(epoch))) : part_;
  }

  const double part_;
  const StreamShape shape_;
  const std::vector<TensorRun> small_;
  const std::size_t small_floats_;
  SparseCode code_;
  LargestEntries largest_;
  std::vector<float> velocity_, sums_;
};

}  // namespace

std::unique_ptr<Codec> make_threshold_codec(float least, const StreamShape& shape) {
  return std::make_unique<ThresholdCodec>(least, shape.length);
}
std::unique_ptr<Codec> make_topk_codec(double part, const StreamShape& shape) {
  return std::make_unique<TopkCodec>(part, shape.length);
}
std::unique_ptr<Codec> make_dgc_codec(double part, StreamShape shape) {
  return std::make_unique<DgcCodec>(part, std::move(shape));
}

}  // namespace veche
