#include "veche/train/optimizer.h"

#include <cmath>
#include <stdexcept>

#include "veche/base/hot.h"

namespace veche {
namespace {

struct SgdCoefficients {
  float rate, scale, decay, momentum;
};

// `out` is `x` or does not overlap it: no element depends on another, which is what `ivdep` says.

VECHE_HOT void plain_pass(float* out, const float* x, const float* g, std::size_t n, SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] - c.rate * (c.scale * g[i] + c.decay * x[i]);
}

VECHE_HOT void momentum_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                             SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    velocity[i] = c.momentum * velocity[i] + (c.scale * g[i] + c.decay * x[i]);
    out[i] = x[i] - c.rate * velocity[i];
  }
}

VECHE_HOT void nesterov_pass(float* out, const float* x, const float* g, float* velocity, std::size_t n,
                             SgdCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float slope = c.scale * g[i] + c.decay * x[i];
    velocity[i] = c.momentum * velocity[i] + slope;
    out[i] = x[i] - c.rate * (slope + c.momentum * velocity[i]);
  }
}

struct AdamCoefficients {
  float step, scale, decay, shrink, beta1, rest1, beta2, rest2, epsilon, root_correction;
};

VECHE_HOT void adam_pass(float* out, const float* x, const float* g, float* mean, float* square,
                         std::size_t n, AdamCoefficients c) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float slope = c.scale * g[i] + c.decay * x[i];
    mean[i] = c.beta1 * mean[i] + c.rest1 * slope;
    square[i] = c.beta2 * square[i] + c.rest2 * slope * slope;
    out[i] = c.shrink * x[i] - c.step * mean[i] / (std::sqrt(square[i]) * c.root_correction + c.epsilon);
  }
}

class Sgd : public Optimizer {
 public:
  using Optimizer::update;
  Sgd(const Options& options, std::size_t parameters)
      : momentum_(options.get<double>("momentum", 0)),
        nesterov_(options.get<bool>("nesterov", false)),
        decay_(options.get<double>("weight_decay", 0)),
        velocity_(momentum_ == 0 ? 0 : parameters) {}

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    const SgdCoefficients c{static_cast<float>(step.rate), static_cast<float>(step.gradient_scale),
                            static_cast<float>(decay_), static_cast<float>(momentum_)};
    if (velocity_.empty())
      plain_pass(into.data(), x.data(), g.data(), x.size(), c);
    else
      (nesterov_ ? nesterov_pass : momentum_pass)(into.data(), x.data(), g.data(), velocity_.data(), x.size(),
                                                  c);
  }

  std::vector<std::span<float>> state() override { return {velocity_}; }

 private:
  const double momentum_;
  const bool nesterov_;
  const double decay_;
  std::vector<float> velocity_;
};

// Adam adds the decay to the gradient; AdamW shrinks the parameters directly.
class Adam : public Optimizer {
 public:
  using Optimizer::update;
  Adam(const Options& options, std::size_t parameters, bool decoupled)
      : beta1_(options.get<double>("beta1", 0.9)),
        beta2_(options.get<double>("beta2", 0.999)),
        epsilon_(options.get<double>("epsilon", 1e-8)),
        decay_(options.get<double>("weight_decay", 0)),
        decoupled_(decoupled),
        mean_(parameters),
        square_(parameters) {}

  void update(std::span<float> into, std::span<const float> x, std::span<const float> g,
              const Step& step) override {
    const auto t = static_cast<double>(step.number);
    AdamCoefficients c{};
    c.step = static_cast<float>(step.rate / (1 - std::pow(beta1_, t)));
    c.scale = static_cast<float>(step.gradient_scale);
    c.decay = decoupled_ ? 0.0F : static_cast<float>(decay_);
    c.shrink = decoupled_ ? static_cast<float>(1 - step.rate * decay_) : 1.0F;
    c.beta1 = static_cast<float>(beta1_);
    c.rest1 = static_cast<float>(1 - beta1_);  // in double: 1 - 0.999F is off in the fifth digit
    c.beta2 = static_cast<float>(beta2_);
    c.rest2 = static_cast<float>(1 - beta2_);
    c.epsilon = static_cast<float>(epsilon_);
    c.root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t)));
    adam_pass(into.data(), x.data(), g.data(), mean_.data(), square_.data(), x.size(), c);
  }

  std::vector<std::span<float>> state() override { return {mean_, square_}; }

 private:
  const double beta1_, beta2_, epsilon_, decay_;
  const bool decoupled_;
  std::vector<float> mean_, square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Options& options, std::size_t parameters) {
  const auto name = options.get<std::string>("name");
  if (name == "sgd") return std::make_unique<Sgd>(options, parameters);
  if (name == "adam") return std::make_unique<Adam>(options, parameters, false);
  if (name == "adamw") return std::make_unique<Adam>(options, parameters, true);
  throw std::logic_error("optimizer '" + name + "' passed the check of the configuration");
}

std::vector<std::string> optimizer_names() { return {"sgd", "adam", "adamw"}; }

double default_rate(const std::string& optimizer) { return optimizer == "sgd" ? 0.05 : 0.001; }

}  // namespace veche
