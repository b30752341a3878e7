#include "veche/train/optim/muon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/train/optim/matrix_product.h"

namespace veche {
namespace {

// Five times p(s) = 3.4445 s - 4.775 s^3 + 2.0315 s^5, of a singular value over the matrix's norm.
double iterated(double s) {
  for (int k = 0; k < 5; ++k) s = 3.4445 * s - 4.775 * std::pow(s, 3) + 2.0315 * std::pow(s, 5);
  return s;
}

// The reflection I - 2 v v' / v'v, which is orthogonal.
std::vector<double> reflection(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, "reflection");
  std::vector<double> v(n), matrix(n * n);
  for (double& one : v) one = random.normal();
  const double square = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] = (i == j ? 1 : 0) - 2 * v[i] * v[j] / square;
  return matrix;
}

// U diag(s) V, with rows x columns entries.
std::vector<float> with_singular_values(const std::vector<double>& s, std::size_t rows, std::size_t columns) {
  const std::vector<double> u = reflection(rows, 1), v = reflection(columns, 2);
  std::vector<float> matrix(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < s.size(); ++k) sum += u[i * rows + k] * s[k] * v[k * columns + j];
      matrix[i * columns + j] = static_cast<float>(sum);
    }
  return matrix;
}

TEST(Orthogonalize, ChangesNothingButTheSingularValues) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{3, 3}, {5, 19}, {40, 7}, {33, 64}}) {
    const std::size_t n = std::min(rows, columns);
    std::vector<double> before(n), after(n);
    for (std::size_t k = 0; k < n; ++k) before[k] = 1 + 0.3 * static_cast<double>(k);
    const double norm = std::sqrt(std::inner_product(before.begin(), before.end(), before.begin(), 0.0));
    for (std::size_t k = 0; k < n; ++k) after[k] = iterated(before[k] / norm);
    for (const double s : after) EXPECT_NEAR(s, 1, 0.35);
    std::vector<float> matrix = with_singular_values(before, rows, columns);
    const std::vector<float> expected = with_singular_values(after, rows, columns);
    std::vector<float> scratch;
    orthogonalize(matrix, rows, columns, scratch);
    for (std::size_t i = 0; i < matrix.size(); ++i)
      ASSERT_NEAR(matrix[i], expected[i], 2e-4) << rows << " x " << columns << ", " << i;
  }
}

TEST(MatrixProduct, IsRightWithEveryInstructionSet) {
  constexpr std::size_t kRows = 13, kInner = 21, kColumns = 37;
  std::vector<float> a(kRows * kInner), b(kInner * kColumns);
  RandomStream random(3, "matrices");
  for (float& one : a) one = static_cast<float>(random.normal());
  for (float& one : b) one = static_cast<float>(random.normal());
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet limited(name);
    std::vector<float> c(kRows * kColumns);
    matrix_product(a.data(), b.data(), c.data(), kRows, kInner, kColumns);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kInner; ++k)
          sum += static_cast<double>(a[i * kInner + k]) * static_cast<double>(b[k * kColumns + j]);
        EXPECT_NEAR(c[i * kColumns + j], sum, 1e-4) << name;
      }
  }
}

std::vector<TensorLayout> layout_of(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& all) {
  std::vector<TensorLayout> layout;
  std::size_t offset = 0;
  for (const auto& [name, shape] : all) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    layout.push_back({name, shape, strides, offset});
    offset += static_cast<std::size_t>(shape[0] * strides[0]);
  }
  return layout;
}

std::vector<bool> hidden_in(const std::vector<TensorLayout>& layout, std::size_t size) {
  std::vector<bool> hidden;
  for (const LayerSpan& layer : layers_of(layout, 0, size)) hidden.push_back(layer.hidden);
  return hidden;
}

TEST(Muon, SparesEmbeddingsOutputsAndVectors) {
  EXPECT_EQ(hidden_in(layout_of({{"transformer.wte.weight", {5, 4}},
                                 {"transformer.h.0.ln_1.weight", {4}},
                                 {"transformer.h.0.attn.c_attn.weight", {4, 12}},
                                 {"transformer.h.0.mlp.c_proj.weight", {8, 4}}}),
                      20 + 4 + 48 + 32),
            (std::vector{false, false, true, true}));
  EXPECT_EQ(hidden_in(layout_of({{"fc1.weight", {3, 2}}, {"fc1.bias", {3}}, {"fc2.weight", {2, 3}}}), 15),
            (std::vector{true, false, false}));
}

// A diagonal hidden matrix: the step is that of its singular values. The bias steps as AdamW does.
TEST(Muon, StepsAsThePaperSays) {
  const auto layout = layout_of({{"fc1.weight", {2, 2}}, {"fc1.bias", {2}}, {"fc2.weight", {1, 2}}});
  const OptimizerSettings settings{
      .name = "muon", .momentum = 0.95, .nesterov = true, .weight_decay = 0.1, .decay_norms = false};
  const auto optimizer = make_optimizer(settings, layers_of(layout, 0, 8));
  OptimizerSettings adamw = settings;
  adamw.name = "adamw";
  const auto other = make_optimizer(adamw, layers_of(layout, 0, 8));
  std::vector<float> x{1, 0, 0, -2, 0.5F, 1, 3, -1}, y = x;
  double w[2] = {1, -2}, v[2] = {0, 0};
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const auto k = static_cast<float>(step);
    const std::vector<float> g{2 * k, 0, 0, 1, 0.1F, -0.2F * k, 1, 2};
    optimizer->update(x, g, {.rate = 0.02, .gradient_scale = 0.5, .number = step});
    other->update(y, g, {.rate = 0.02, .gradient_scale = 0.5, .number = step});
    double u[2];
    const double slope[2] = {0.5 * 2 * static_cast<double>(k), 0.5};
    for (int i = 0; i < 2; ++i) {
      v[i] = 0.95 * v[i] + 0.05 * slope[i];
      u[i] = 0.95 * v[i] + 0.05 * slope[i];
    }
    const double norm = std::hypot(u[0], u[1]);
    for (int i = 0; i < 2; ++i)
      w[i] = (1 - 0.02 * 0.1) * w[i] - 0.02 * 0.2 * std::sqrt(2.0) * iterated(u[i] / norm);
    EXPECT_NEAR(x[0], w[0], 1e-6);
    EXPECT_NEAR(x[3], w[1], 1e-6);
    EXPECT_NEAR(x[1], 0, 1e-7);
    for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(x[i], y[i]) << i;
  }
}

TEST(Muon, NeedsWholeLayers) {
  const auto layout = layout_of({{"fc1.weight", {4, 4}}, {"fc2.weight", {2, 4}}});
  EXPECT_THROW(make_optimizer({.name = "muon"}, layers_of(layout, 0, 10)), RequestError);
}

}  // namespace
}  // namespace veche
