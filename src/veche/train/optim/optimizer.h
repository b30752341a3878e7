#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/base/module/registry.h"
#include "veche/learner.h"
#include "veche/optimizer.h"
#include "veche/register.h"
#include "veche/settings.h"

namespace veche {

// A tensor's place in the flat vector, as far as an optimiser cares.
struct LayerSpan {
  std::size_t from = 0;
  std::size_t to = 0;
  bool norm_or_bias = false;  // of one dimension
  bool cut = false;           // the vector holds only a part of it
  // A weight matrix inside the network: of two dimensions, and no embedding or output layer.
  bool hidden = false;
  std::size_t rows = 0, columns = 0;  // of a hidden one, in the order of its memory
};

// The layers of the part [from, to) of a vector, counted from the part's beginning, in order and
// without gaps.
std::vector<LayerSpan> layers_of(const std::vector<TensorLayout>& layout, std::size_t from, std::size_t to);
// Of a learner's whole vector, or of a part of it.
std::vector<LayerSpan> layers_of(Learner& learner);
std::vector<LayerSpan> layers_of(Learner& learner, std::span<const float> part);

// Formulas and defaults are PyTorch's, or the paper's for LARS. Throws RequestError for LARS on
// layers that are cut; `instead` says how to keep them whole.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, std::vector<LayerSpan> layers,
                                          const std::string& instead = "choose another optimizer");
// The same for parameters()[from, from + length) of a learner; also an optimizer that a program has
// registered.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, Learner& learner,
                                          std::size_t from, std::size_t length,
                                          const std::string& instead = "choose another optimizer");
// For a vector that is one layer.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, std::size_t parameters);

// The built-in ones.
enum class OptimizerRule { sgd, adam, adamw, lars, muon };
std::vector<std::string> optimizer_names();
// Returns nothing for a name that a program has registered.
std::optional<OptimizerRule> optimizer_rule(std::string_view name);
// Registered by programs (veche/register.h).
Registry<OwnOptimizer>& own_optimizers();
// Default learning rates.
double default_rate(std::string_view optimizer);

}  // namespace veche
