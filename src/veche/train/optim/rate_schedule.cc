#include "veche/train/optim/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace veche {
namespace {

// From `from` to `to` along half a cosine as `part` goes from 0 to 1.
double cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * std::clamp(part, 0.0, 1.0))) / 2;
}

// PyTorch's one-cycle: a rise from peak/25 over the first 30 %, then a fall to a ten-thousandth of
// that start.
constexpr double kRise = 0.3;
constexpr double kStartDivisor = 25;
constexpr double kEndDivisor = 1e4;

}  // namespace

RateSchedule::RateSchedule(const OptimizerSettings& settings, const Plan& plan)
    : shape_(settings.schedule),
      peak_(settings.lr),
      end_(settings.lr_end),
      warmup_steps_(settings.warmup_steps > 0 ? static_cast<double>(settings.warmup_steps)
                                              : settings.warmup_epochs * plan.steps_per_epoch),
      ahead_(static_cast<double>(plan.ahead)),
      total_steps_(static_cast<double>(plan.total_steps) + ahead_),
      gamma_(settings.gamma) {
  for (const double epoch : settings.milestones) milestones_.push_back(epoch * plan.steps_per_epoch);
  if (!settings.scale_lr) return;
  peak_ *= plan.nodes;
  end_ *= plan.nodes;
}

double RateSchedule::rate(std::uint64_t step) const {
  const double k = static_cast<double>(step) + ahead_;
  if (shape_ == RateShape::one_cycle) {
    // The rise is the warm-up. The last step ends the fall, as in PyTorch, where total_steps counts
    // both ends.
    const double top = std::max(kRise * total_steps_ - 1, 1.0);
    const double start = peak_ / kStartDivisor;
    if (k <= top) return cosine(start, peak_, k / top);
    return cosine(peak_, start / kEndDivisor, (k - top) / std::max(total_steps_ - 1 - top, 1.0));
  }
  if (k < warmup_steps_) return peak_ * (k + 1) / warmup_steps_;
  switch (shape_) {
    case RateShape::multi_step: {
      const auto passed = std::ranges::count_if(milestones_, [&](double at) { return k >= at; });
      return peak_ * std::pow(gamma_, static_cast<double>(passed));
    }
    case RateShape::cosine:
      return cosine(peak_, end_, (k - warmup_steps_) / std::max(total_steps_ - warmup_steps_, 1.0));
    default:
      return peak_;
  }
}

}  // namespace veche
