#include "veche/model/vector.h"

#include <algorithm>

#include "veche/base/machine/memory.h"
#include "veche/errors.h"
#include "veche/model/drawn_start.h"

namespace veche {
namespace {

class Vector : public Learner {
 public:
  explicit Vector(std::vector<float> start) : x_(std::move(start)), gradient_(x_.size()) {}

  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return gradient_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& batch) override {
    std::ranges::fill(gradient_, 0.0F);  // a strategy may have changed it
    return evaluate(batch);
  }
  Score evaluate(const Batch& /*batch*/) override { return {.loss_sum = 0, .correct = 0, .count = 1}; }
  std::vector<TensorLayout> parameter_layout() const override {
    return {{"x", {static_cast<std::int64_t>(x_.size())}, {1}, 0}};
  }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  std::vector<float> x_;
  std::vector<float> gradient_;
};

}  // namespace

std::unique_ptr<Learner> make_vector(const ModelSpec& spec) {
  if (!spec.settings.length)
    throw RequestError("model.name = \"vector\" needs model.length, the number of floats");
  const std::int64_t length = *spec.settings.length;
  check_memory(2.0 * sizeof(float) * static_cast<double>(length), "model.length = " + std::to_string(length),
               "choose a shorter one");
  std::vector<float> start(static_cast<std::size_t>(length), 1.0F);
  draw_start(start, spec);
  return std::make_unique<Vector>(std::move(start));
}

}  // namespace veche
