#include <algorithm>
#include <cmath>

#include "veche/compress/code_bytes.h"
#include "veche/compress/codecs.h"
#include "veche/compress/sparse_code.h"
#include "veche/compress/summed_codecs.h"
#include "veche/compress/tensor_runs.h"
#include "veche/random.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// One random entry from each of k equal ranges of the vector. Every entry is equally likely, all
// nodes draw the same entries in a round, and they are in ascending order.
class RandomEntries {
 public:
  RandomEntries(double part, const StreamShape& shape)
      : length_(shape.length),
        seed_(shape.seed),
        scaled_(!shape.remembered),
        places_(part_of_entries(part, length_)) {}

  std::size_t count() const { return places_.size(); }

  const std::vector<std::uint32_t>& find(std::uint64_t round) {
    if (known_ && round == round_) return places_;
    RandomStream random(seed_, "randomk", round);
    for (std::size_t k = 0; k < places_.size(); ++k)
      places_[k] = static_cast<std::uint32_t>(start(k) + ((random.next() >> 32) * stretch(k) >> 32));
    known_ = true;
    round_ = round;
    return places_;
  }

  // Weight of entry k: the length of its range without error feedback, so that the mean is
  // unbiased.
  float factor(std::size_t k) const { return scaled_ ? static_cast<float>(stretch(k)) : 1.0F; }

 private:
  std::size_t start(std::size_t k) const { return k * length_ / places_.size(); }
  std::size_t stretch(std::size_t k) const { return start(k + 1) - start(k); }

  const std::size_t length_;
  const std::uint64_t seed_;
  const bool scaled_;
  std::vector<std::uint32_t> places_;
  bool known_ = false;
  std::uint64_t round_ = 0;
};

// Layout: the round, then the values.
class RandomkCodec final : public Codec {
 public:
  RandomkCodec(double part, const StreamShape& shape) : entries_(part, shape) {}

  Message encode(std::span<const float> x, std::uint64_t round, MessagePool& pool) override {
    const std::vector<std::uint32_t>& places = entries_.find(round);
    CodeWriter code(pool, most_bytes());
    code.put(round);
    float* const values = code.room<float>(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) values[k] = entries_.factor(k) * x[places[k]];
    return std::move(code).message();
  }

  void add_decoded(std::span<const std::byte> code, float weight, std::span<float> into) override {
    CodeReader reader(code);
    const auto round = reader.item<std::uint64_t>();
    const float* const values = reader.items<float>(entries_.count());
    reader.end();
    const std::vector<std::uint32_t>& places = entries_.find(round);
    for (std::size_t k = 0; k < places.size(); ++k) into[places[k]] += weight * values[k];
  }

  std::size_t most_bytes() const override { return sizeof(std::uint64_t) + entries_.count() * sizeof(float); }

 private:
  RandomEntries entries_;
};

// Small tensors, then the chosen entries, as one vector.
class SummedRandomk final : public SummedCodec {
 public:
  SummedRandomk(double part, const StreamShape& shape)
      : feedback_(shape.feedback),
        entries_(part, shape),
        small_(small_runs(shape)),
        small_floats_(total_length(small_)),
        sum_(small_floats_ + entries_.count()) {
    if (feedback_) error_.resize(shape.length);
  }

  std::size_t phases() const override { return 1; }

  std::span<float> phase(std::size_t /*k*/, std::span<const float> x, std::uint64_t round) override {
    if (feedback_) add(error_, x);
    const std::span<const float> v = feedback_ ? std::span<const float>(error_) : x;
    const std::vector<std::uint32_t>& places = entries_.find(round);
    gather(small_, v, sum_.data());
    for (std::size_t k = 0; k < places.size(); ++k)
      sum_[small_floats_ + k] = is_small(places[k]) ? 0 : entries_.factor(k) * v[places[k]];
    if (feedback_) {
      for (const std::uint32_t place : places) error_[place] = 0;
      fill(small_, 0, error_);
    }
    round_ = round;
    return sum_;
  }

  void finish(float weight, std::span<float> out) override {
    std::ranges::fill(out, 0.0F);
    add_gathered(small_, sum_.data(), weight, out);
    const std::vector<std::uint32_t>& places = entries_.find(round_);
    for (std::size_t k = 0; k < places.size(); ++k) out[places[k]] += weight * sum_[small_floats_ + k];
  }

  SavedState state() override {
    return feedback_ ? SavedState{.vectors = {error_}, .numbers = {}} : SavedState{};
  }
  double remembered_norm() const override { return std::sqrt(squared_norm(error_)); }

 private:
  bool is_small(std::uint32_t place) const {
    const auto after = std::ranges::upper_bound(small_, std::size_t{place}, {}, &TensorRun::from);
    return after != small_.begin() && place < std::prev(after)->from + std::prev(after)->length;
  }

  const bool feedback_;
  RandomEntries entries_;
  const std::vector<TensorRun> small_;
  const std::size_t small_floats_;
  std::vector<float> sum_, error_;
  std::uint64_t round_ = 0;
};

}  // namespace

std::unique_ptr<Codec> make_randomk_codec(double part, const StreamShape& shape) {
  return std::make_unique<RandomkCodec>(part, shape);
}
std::unique_ptr<SummedCodec> make_summed_randomk(double part, const StreamShape& shape) {
  return std::make_unique<SummedRandomk>(part, shape);
}

}  // namespace veche
