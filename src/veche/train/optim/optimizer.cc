#include "veche/train/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "veche/base/machine/parallel_ranges.h"
#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/train/optim/lars.h"
#include "veche/train/optim/muon.h"
#include "veche/train/optim/update_passes.h"

namespace veche {
namespace {

constexpr std::array<std::string_view, 5> kNames{"sgd", "adam", "adamw", "lars", "muon"};  // of OptimizerRule

// A stretch of the vector that is treated alike.
struct Group {
  std::size_t from, to;
  double decay;
};

// As few as there can be: one, unless norms and biases are spared.
std::vector<Group> groups_of(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers) {
  const double decay = settings.weight_decay;
  const bool spare = !settings.decay_norms;
  std::vector<Group> groups;
  for (const LayerSpan& layer : layers) {
    const double its_decay = spare && layer.norm_or_bias ? 0 : decay;
    if (!groups.empty() && groups.back().to == layer.from && groups.back().decay == its_decay)
      groups.back().to = layer.to;
    else
      groups.push_back({layer.from, layer.to, its_decay});
  }
  return groups;
}

std::size_t size_of(const std::vector<LayerSpan>& layers) { return layers.empty() ? 0 : layers.back().to; }

// Tells embeddings and output layers by their usual names. A network without an embedding ends with
// its output layer.
std::vector<bool> hidden_matrices(const std::vector<TensorLayout>& layout) {
  constexpr std::array<std::string_view, 4> kOuter{"wte", "wpe", "embed", "lm_head"};
  std::vector<bool> hidden;
  bool embeds = false;
  for (const TensorLayout& tensor : layout) {
    const bool outer =
        std::ranges::any_of(kOuter, [&](auto word) { return tensor.name.find(word) != std::string::npos; });
    embeds = embeds || outer;
    hidden.push_back(tensor.shape.size() == 2 && !outer);
  }
  if (!embeds)
    if (const auto last = std::ranges::find(hidden.rbegin(), hidden.rend(), true); last != hidden.rend())
      *last = false;
  return hidden;
}

class Sgd : public Optimizer {
 public:
  using Optimizer::update;
  Sgd(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers)
      : momentum_(settings.momentum),
        nesterov_(settings.nesterov),
        groups_(groups_of(settings, layers)),
        velocity_(momentum_ == 0 ? 0 : size_of(layers)) {}

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    for (const auto& [from, to, decay] : groups_) {
      const SgdCoefficients c{static_cast<float>(step.rate), static_cast<float>(step.gradient_scale),
                              static_cast<float>(decay), static_cast<float>(momentum_)};
      parallel_ranges(step.threads, to - from, [&, start = from](std::size_t first, std::size_t last) {
        const std::size_t at = start + first, count = last - first;
        if (velocity_.empty())
          plain_pass(into.data() + at, x.data() + at, g.data() + at, count, c);
        else
          (nesterov_ ? nesterov_pass : momentum_pass)(into.data() + at, x.data() + at, g.data() + at,
                                                      velocity_.data() + at, count, c);
      });
    }
  }

  std::vector<std::span<float>> state() override { return {velocity_}; }

 private:
  const double momentum_;
  const bool nesterov_;
  const std::vector<Group> groups_;
  std::vector<float> velocity_;
};

// Adam adds the decay to the gradient; AdamW shrinks the parameters directly.
class Adam : public Optimizer {
 public:
  using Optimizer::update;
  Adam(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers, bool decoupled)
      : Adam(settings, layers, decoupled, size_of(layers)) {}
  // Of some layers of a vector of this length.
  Adam(const OptimizerSettings& settings, const std::vector<LayerSpan>& layers, bool decoupled,
       std::size_t length)
      : beta1_(settings.beta1),
        beta2_(settings.beta2),
        epsilon_(settings.epsilon),
        decoupled_(decoupled),
        groups_(groups_of(settings, layers)),
        mean_(length),
        square_(length) {}

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    const auto t = static_cast<double>(step.number);
    AdamCoefficients c{};
    c.step = static_cast<float>(step.rate / (1 - std::pow(beta1_, t)));
    c.scale = static_cast<float>(step.gradient_scale);
    c.beta1 = static_cast<float>(beta1_);
    c.rest1 = static_cast<float>(1 - beta1_);  // in double: 1 - 0.999F is off in the fifth digit
    c.beta2 = static_cast<float>(beta2_);
    c.rest2 = static_cast<float>(1 - beta2_);
    c.epsilon = static_cast<float>(epsilon_);
    c.root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t)));
    for (const auto& [from, to, decay] : groups_) {
      c.decay = decoupled_ ? 0.0F : static_cast<float>(decay);
      c.shrink = decoupled_ ? static_cast<float>(1 - step.rate * decay) : 1.0F;
      parallel_ranges(step.threads, to - from, [&, start = from](std::size_t first, std::size_t last) {
        const std::size_t at = start + first;
        adam_pass(into.data() + at, x.data() + at, g.data() + at, mean_.data() + at, square_.data() + at,
                  last - first, c);
      });
    }
  }

  std::vector<std::span<float>> state() override { return {mean_, square_}; }

 private:
  const double beta1_, beta2_, epsilon_;
  const bool decoupled_;
  const std::vector<Group> groups_;
  std::vector<float> mean_, square_;
};

}  // namespace

std::vector<LayerSpan> layers_of(const std::vector<TensorLayout>& layout, std::size_t from, std::size_t to) {
  std::vector<LayerSpan> layers;
  const std::vector<bool> hidden = hidden_matrices(layout);
  for (const TensorLayout& tensor : layout) {
    const std::size_t begin = tensor.offset, end = begin + size_of(tensor);
    const std::size_t first = std::max(begin, from), last = std::min(end, to);
    if (first < last)
      layers.push_back({.from = first - from,
                        .to = last - from,
                        .norm_or_bias = tensor.shape.size() < 2,
                        .cut = first != begin || last != end});
    if (first < last && hidden[static_cast<std::size_t>(&tensor - layout.data())]) {
      const bool by_rows = tensor.strides[1] == 1;
      layers.back().hidden = true;
      layers.back().rows = static_cast<std::size_t>(tensor.shape[by_rows ? 0 : 1]);
      layers.back().columns = static_cast<std::size_t>(tensor.shape[by_rows ? 1 : 0]);
    }
  }
  std::ranges::sort(layers, {}, &LayerSpan::from);
  // A registered learner may not name all of its parameters; they are trained nevertheless.
  std::vector<LayerSpan> all;
  std::size_t end = 0;
  for (const LayerSpan& layer : layers) {
    if (layer.from > end) all.push_back({.from = end, .to = layer.from});
    all.push_back(layer);
    end = layer.to;
  }
  if (end < to - from) all.push_back({.from = end, .to = to - from});
  return all;
}

std::vector<LayerSpan> layers_of(Learner& learner) { return layers_of(learner, learner.parameters()); }

std::vector<LayerSpan> layers_of(Learner& learner, std::span<const float> part) {
  const auto from = static_cast<std::size_t>(part.data() - learner.parameters().data());
  return layers_of(learner.parameter_layout(), from, from + part.size());
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, std::vector<LayerSpan> layers,
                                          const std::string& instead) {
  const auto rule = optimizer_rule(settings.name);
  if (!rule)
    throw std::logic_error("optimizer '" + settings.name + "' passed the check of the configuration");
  switch (*rule) {
    case OptimizerRule::sgd:
      return std::make_unique<Sgd>(settings, layers);
    case OptimizerRule::adam:
      return std::make_unique<Adam>(settings, layers, false);
    case OptimizerRule::adamw:
      return std::make_unique<Adam>(settings, layers, true);
    case OptimizerRule::lars:
      return make_lars(settings, std::move(layers), instead);
    case OptimizerRule::muon:
      break;
  }
  std::vector<LayerSpan> rest = layers;
  std::erase_if(rest, [](const LayerSpan& layer) { return layer.hidden; });
  return make_muon(settings, layers, std::make_unique<Adam>(settings, rest, true, size_of(layers)), instead);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, Learner& learner,
                                          std::size_t from, std::size_t length, const std::string& instead) {
  const OwnOptimizer* const own = own_optimizers().find(settings.name);
  if (own == nullptr)
    return make_optimizer(settings, layers_of(learner, learner.parameters().subspan(from, length)), instead);
  auto made = own->make(learner, from, length);
  if (made == nullptr)
    throw RequestError("optimizer.name = \"" + own->name + "\": the program that registered it made none");
  return made;
}

Registry<OwnOptimizer>& own_optimizers() {
  static Registry<OwnOptimizer> optimizers;
  return optimizers;
}

void register_optimizer(OwnOptimizer optimizer) {
  const bool makes = static_cast<bool>(optimizer.make);
  own_optimizers().add(std::move(optimizer), "optimizer", makes,
                       [](const std::string& name) { return optimizer_rule(name).has_value(); });
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings, std::size_t parameters) {
  return make_optimizer(settings, std::vector<LayerSpan>{{.from = 0, .to = parameters}});
}

std::vector<std::string> optimizer_names() { return {kNames.begin(), kNames.end()}; }

std::optional<OptimizerRule> optimizer_rule(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return {};
  return static_cast<OptimizerRule>(found - kNames.begin());
}

double default_rate(std::string_view optimizer) {
  const auto rule = optimizer_rule(optimizer);
  if (rule == OptimizerRule::lars) return 1;
  return rule == OptimizerRule::sgd ? 0.05 : 0.001;
}

}  // namespace veche
