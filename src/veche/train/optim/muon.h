#pragma once

#include "veche/train/optim/optimizer.h"

namespace veche {

// Muon (Jordan et al. 2024): the momentum of a hidden weight matrix is replaced by the nearest
// matrix with orthogonal rows or columns, to the precision of five Newton-Schulz iterations.
//   v = m v + (1-m) g;  u = v, or m v + (1-m) g with nesterov;
//   w = (1 - rate decay) w - rate 0.2 sqrt(max(rows, columns)) orthogonal(u)
// The factor makes an element's step as large as AdamW's, so one rate serves both. `rest`, an AdamW
// of the same length, makes the steps of everything else: norms, biases, kernels, embeddings and
// the output layer. Its mean holds v where the matrices are.
std::unique_ptr<Optimizer> make_muon(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers,
                                     std::unique_ptr<Optimizer> rest, const std::string& instead);

// Replaces the singular values s of a row-major matrix by p(p(p(p(p(s / |s|))))), where p(s) is
// 3.4445 s
// - 4.775 s^3 + 2.0315 s^5, which brings them near 1. `scratch` is resized.
void orthogonalize(std::span<float> matrix, std::size_t rows, std::size_t columns,
                   std::vector<float>& scratch);

}  // namespace veche
