#include "veche/train/optim/lars.h"

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/train/optim/update_passes.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

class Lars : public Optimizer {
 public:
  using Optimizer::update;
  Lars(const OptimizerSettings& settings, std::vector<LayerSpan> layers)
      : momentum_(settings.momentum),
        decay_(settings.weight_decay),
        trust_(settings.trust),
        spare_(!settings.decay_norms),
        layers_(std::move(layers)),
        velocity_(layers_.empty() ? 0 : layers_.back().to) {}

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    for (const LayerSpan& layer : layers_) {
      const std::size_t count = layer.to - layer.from;
      const bool spared = spare_ && layer.norm_or_bias;
      const double rate = step.rate * (spared ? 1
                                              : ratio(x.subspan(layer.from, count),
                                                      g.subspan(layer.from, count), step.gradient_scale));
      lars_pass(into.data() + layer.from, x.data() + layer.from, g.data() + layer.from,
                velocity_.data() + layer.from, count,
                {static_cast<float>(rate * step.gradient_scale),
                 static_cast<float>(spared ? 0 : rate * decay_), static_cast<float>(momentum_)});
    }
  }

  std::vector<std::span<float>> state() override { return {velocity_}; }

 private:
  double ratio(std::span<const float> x, std::span<const float> g, double gradient_scale) const {
    const double weights = std::sqrt(squared_norm(x));
    const double gradient = gradient_scale * std::sqrt(squared_norm(g));
    if (weights == 0 || gradient == 0) return 1;
    return trust_ * weights / (gradient + decay_ * weights);
  }

  const double momentum_, decay_, trust_;
  const bool spare_;
  const std::vector<LayerSpan> layers_;
  std::vector<float> velocity_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lars(const OptimizerSettings& settings, std::vector<LayerSpan> layers,
                                     const std::string& instead) {
  if (std::ranges::any_of(layers, &LayerSpan::cut))
    throw RequestError("optimizer.name = \"lars\" needs whole layers, which are cut here; " + instead);
  return std::make_unique<Lars>(settings, std::move(layers));
}

}  // namespace veche
