#include "veche/train/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/train/optim/matrix_product.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr int kIterations = 5;
constexpr float kLinear = 3.4445F, kCubic = -4.7750F, kQuintic = 2.0315F;
constexpr double kLeastNorm = 1e-7;
constexpr double kAdamLike = 0.2;  // root mean square of AdamW's steps

void transpose(const float* from, float* to, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

class Muon : public Optimizer {
 public:
  using Optimizer::update;
  Muon(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers,
       std::unique_ptr<Optimizer> rest)
      : momentum_(static_cast<float>(settings.momentum)),
        nesterov_(settings.nesterov),
        decay_(settings.weight_decay),
        rest_(std::move(rest)) {
    for (const LayerSpan& layer : layers)
      if (layer.hidden) matrices_.push_back(layer);
  }

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    rest_->update(into, x, g, step);
    const std::span<float> velocity = rest_->state().front();  // AdamW leaves these parts of its mean alone
    for (const LayerSpan& matrix : matrices_) {
      const std::size_t from = matrix.from, length = matrix.to - matrix.from;
      step_matrix(matrix, into.subspan(from, length), x.subspan(from, length), g.subspan(from, length),
                  velocity.subspan(from, length), step);
    }
  }

  std::vector<std::span<float>> state() override { return rest_->state(); }

 private:
  void step_matrix(const LayerSpan& matrix, std::span<float> into, std::span<const float> x,
                   std::span<const float> g, std::span<float> velocity, const Step& step) {
    const auto scale = static_cast<float>(step.gradient_scale);
    update_.resize(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      const float fresh = (1 - momentum_) * scale * g[i];
      velocity[i] = momentum_ * velocity[i] + fresh;
      update_[i] = nesterov_ ? momentum_ * velocity[i] + fresh : velocity[i];
    }
    orthogonalize(update_, matrix.rows, matrix.columns, scratch_);
    const auto shrink = static_cast<float>(1 - step.rate * decay_);
    const auto rate = static_cast<float>(
        step.rate * kAdamLike * std::sqrt(static_cast<double>(std::max(matrix.rows, matrix.columns))));
    for (std::size_t i = 0; i < x.size(); ++i) into[i] = shrink * x[i] - rate * update_[i];
  }

  const float momentum_;
  const bool nesterov_;
  const double decay_;
  const std::unique_ptr<Optimizer> rest_;
  std::vector<LayerSpan> matrices_;
  std::vector<float> update_, scratch_;
};

}  // namespace

void orthogonalize(std::span<float> matrix, std::size_t rows, std::size_t columns,
                   std::vector<float>& scratch) {
  const std::size_t n = std::min(rows, columns), m = std::max(rows, columns), size = n * m;
  scratch.resize(3 * size + 2 * n * n);
  // The shorter side first: products with the transposed are small.
  float* x = scratch.data();
  float* next = x + size;
  float* const turned = next + size;
  float* const square = turned + size;
  float* const fourth = square + n * n;
  if (rows <= columns)
    std::ranges::copy(matrix, x);
  else
    transpose(matrix.data(), x, rows, columns);
  scale(std::span(x, size), static_cast<float>(1 / (std::sqrt(squared_norm(matrix)) + kLeastNorm)));
  for (int k = 0; k < kIterations; ++k) {
    transpose(x, turned, n, m);
    matrix_product(x, turned, square, n, m, n);
    matrix_product(square, square, fourth, n, n, n);
    for (std::size_t i = 0; i < n * n; ++i) fourth[i] = kCubic * square[i] + kQuintic * fourth[i];
    matrix_product(fourth, x, next, n, n, m);
    for (std::size_t i = 0; i < size; ++i) next[i] += kLinear * x[i];
    std::swap(x, next);
  }
  if (rows <= columns)
    std::ranges::copy(std::span<const float>(x, size), matrix.begin());
  else
    transpose(x, matrix.data(), columns, rows);
}

std::unique_ptr<Optimizer> make_muon(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers,
                                     std::unique_ptr<Optimizer> rest, const std::string& instead) {
  if (std::ranges::any_of(layers, &LayerSpan::cut))
    throw RequestError("optimizer.name = \"muon\" needs whole layers, which are cut here; " + instead);
  return std::make_unique<Muon>(settings, layers, std::move(rest));
}

}  // namespace veche
