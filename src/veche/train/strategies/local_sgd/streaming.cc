#include "veche/train/strategies/local_sgd/streaming.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/collectives.h"
#include "veche/comm/equal_everywhere.h"
#include "veche/comm/parts.h"
#include "veche/errors.h"
#include "veche/train/strategies/local_sgd/background_sum.h"
#include "veche/train/strategies/local_sgd/fragment_times.h"
#include "veche/train/strategies/local_sgd/outer_optimizer.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Streaming DiLoCo (Douillard et al. 2025). Each fragment of the model has an average of its own in
// every period. A node sends how far the fragment has moved from the common one, trains on for
// `delay` steps while a helper adds up all nodes' changes, and then moves the common fragment by
// the outer optimiser and its own one to blend x + (1 - blend) common. The network is used all the
// time, in small parts, and no node waits for it unless it needs more than `delay` steps.
class StreamingLocalSgd : public Strategy,
                          public BeforeBackward,
                          public MeasuredStrategy,
                          public DividedState {
 public:
  explicit StreamingLocalSgd(StrategyContext context)
      : context_(std::move(context)),
        options_(context_.options),
        parts_(fragments_of(context_.learner.parameters().size(), static_cast<int>(options_.fragments))),
        times_(options_.steps_of_period("fragments are averaged"), parts_.size(), options_.delay),
        share_(static_cast<float>(options_.weighted ? context_.samples.weight(context_.me(), context_.nodes())
                                                    : 1.0 / static_cast<double>(context_.nodes()))),
        common_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        outer_(options_, options_.has_outer() ? common_.size() : 0),
        sums_(context_, parts_),
        arrived_(parts_.front().length) {}

  // The common model is the mean of the first models.
  void start() override {
    if (started_ == 0 && !equal_everywhere(context_.channel, common_)) {
      scale(common_, 1.0F / static_cast<float>(context_.nodes()));
      all_reduce(context_.channel, common_);
    }
    started_ = 1;
    sums_.start();
  }

  // A fragment was under way when the nodes of this run changed: all send it again.
  void before_backward(std::uint64_t step) override {
    if (looked_) return;
    looked_ = true;
    if (const auto fragment = times_.under_way_at(step); fragment && has_arrived_ == 0) send(*fragment, step);
  }

  void after_step(std::uint64_t step) override {
    if (const auto fragment = times_.sent_at(step + 1)) send(*fragment, step);
    if (const auto fragment = times_.used_at(step + 1)) use(*fragment);
    made_ = step + 1;
  }

  void finish() override {
    if (const auto fragment = times_.under_way_at(made_);
        fragment && (sums_.under_way() || has_arrived_ != 0))
      use(*fragment);
  }

  // A sum that is under way is completed first: a checkpoint holds its result.
  SavedState state() override {
    if (sums_.under_way()) {
      std::ranges::copy(sums_.wait(), arrived_.begin());
      has_arrived_ = 1;
    }
    SavedState all{{common_, arrived_}, {&started_, &has_arrived_, &made_}};
    for (const std::span<float> part : outer_.state()) all.vectors.push_back(part);
    sums_.add_state(all);
    return all;
  }
  Parts divided_state() override {
    Parts parts{{common_}, {}};
    for (const std::span<float> part : outer_.state()) parts.common.push_back(part);
    return parts;
  }
  Coding coding() const override { return sums_.coding(); }

 private:
  static std::vector<BackgroundSum::Part> fragments_of(std::size_t length, int fragments) {
    if (static_cast<std::size_t>(fragments) > length)
      throw RequestError(fmt::format(
          "strategy.fragments = {} are more than the {} parameters of the model: choose at most {}",
          fragments, length, length));
    std::vector<BackgroundSum::Part> parts;
    for (int k = 0; k < fragments; ++k) {
      const std::size_t from = part_start(length, fragments, k);
      parts.push_back({from, part_start(length, fragments, k + 1) - from});
    }
    return parts;
  }

  void send(std::size_t fragment, std::uint64_t step) {
    const auto [from, length] = parts_[fragment];
    const std::span<const float> x = context_.learner.parameters().subspan(from, length);
    slope_.resize(length);
    for (std::size_t i = 0; i < length; ++i) slope_[i] = share_ * (common_[from + i] - x[i]);
    sums_.begin(fragment, slope_, sums_.codes(step));
  }

  void use(std::size_t fragment) {
    const auto [from, length] = parts_[fragment];
    const std::span<const float> slope =
        has_arrived_ != 0 ? std::span<const float>(arrived_).first(length) : sums_.wait();
    has_arrived_ = 0;
    const std::span<float> common = std::span(common_).subspan(from, length);
    outer_.step(common, slope, from);
    const std::span<float> x = context_.learner.parameters().subspan(from, length);
    const auto keep = static_cast<float>(options_.blend);
    for (std::size_t i = 0; i < length; ++i) x[i] = keep * x[i] + (1 - keep) * common[i];
  }

  StrategyContext context_;
  const LocalSgdOptions options_;
  const std::vector<BackgroundSum::Part> parts_;  // the first is the longest
  const FragmentTimes times_;
  const float share_;
  std::vector<float> common_;
  OuterOptimizer outer_;
  BackgroundSum sums_;
  std::vector<float> slope_;
  std::vector<float> arrived_;  // a sum that a checkpoint has waited for
  std::uint64_t has_arrived_ = 0, started_ = 0, made_ = 0;
  bool looked_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_streaming_local_sgd(StrategyContext context) {
  return std::make_unique<StreamingLocalSgd>(std::move(context));
}

}  // namespace veche
