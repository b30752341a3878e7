#include "veche/train/views/state_lending.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "veche/base/files/content_hash.h"
#include "veche/train/optim/model_step.h"

namespace veche {
namespace {

struct Nonzero {
  std::uint32_t index;
  float value;
};

// The number after the slash; nothing if there is none.
std::optional<std::uint64_t> step_named(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return {};
  return number;
}

Message cut_from(std::span<const std::byte> bytes, std::uint64_t offset, std::uint32_t length,
                 MessagePool& pool) {
  const std::uint64_t from = std::min<std::uint64_t>(offset, bytes.size());
  return pool.copy_of(bytes.subspan(from, std::min<std::uint64_t>(length, bytes.size() - from)));
}

}  // namespace

std::vector<std::byte> coded_gradient(std::span<const float> gradient) {
  // By their bits: a negative zero must stay negative.
  const auto is_something = [](float value) { return std::bit_cast<std::uint32_t>(value) != 0; };
  const auto some = static_cast<std::size_t>(std::ranges::count_if(gradient, is_something));
  const bool sparse = some < gradient.size() / 4 && gradient.size() <= ~std::uint32_t{0};
  std::vector<std::byte> code(sparse ? some * sizeof(Nonzero) : gradient.size_bytes());
  if (!sparse) {
    std::ranges::copy(std::as_bytes(gradient), code.begin());
    return code;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (!is_something(gradient[i])) continue;
    const Nonzero one{static_cast<std::uint32_t>(i), gradient[i]};
    std::memcpy(code.data() + at, &one, sizeof one);
    at += sizeof one;
  }
  return code;
}

Shared shared_by(const StrategyInfo& strategy, const Options& options) {
  if (strategy.pace(options) != Pace::in_step) return Shared::nothing;
  if (strategy.common_state(options)) return Shared::common;
  const Replicas replicas = strategy.replicas(options);
  return replicas == Replicas::equal || replicas == Replicas::served ? Shared::models : Shared::nothing;
}

bool repeat_step(NodeSelf& self, const StepMade& made) {
  if (made.by == StepMade::By::nothing) {
    self.step = made.step + made.steps;
    return made.steps > 0;
  }
  if (made.by == StepMade::By::result) {
    const std::vector<std::span<float>> shared = shared_vectors(self);
    if (made.bytes.size() != bytes_in(shared)) return false;
    std::size_t at = 0;
    for (const std::span<float> vector : shared) {
      if (!vector.empty()) std::memcpy(vector.data(), made.bytes.data() + at, vector.size_bytes());
      at += vector.size_bytes();
    }
    self.step = made.step + 1;
    return true;
  }
  const std::span<float> gradient = self.learner->gradients();
  if (made.bytes.size() == gradient.size_bytes()) {
    std::memcpy(gradient.data(), made.bytes.data(), made.bytes.size());
  } else {
    if (made.bytes.size() % sizeof(Nonzero) != 0) return false;
    std::ranges::fill(gradient, 0.0F);
    for (std::size_t at = 0; at < made.bytes.size(); at += sizeof(Nonzero)) {
      Nonzero one;
      std::memcpy(&one, made.bytes.data() + at, sizeof one);
      if (one.index >= gradient.size()) return false;
      gradient[one.index] = one.value;
    }
  }
  make_step(*self.optimizer, self.learner->parameters(), gradient, {made.step, made.rate, made.scale});
  self.step = made.step + 1;
  return true;
}

bool StateLending::due(std::uint64_t step, Time now) {
  if (asked_.exchange(false) || now < last_asked_) last_asked_ = now;  // another view may have another clock
  const MutexLock lock(mutex_);
  if (now > last_step_ && step == step_ + 1) seconds_ += ((now - last_step_).count() - seconds_) / 8;
  last_step_ = now;
  step_ = step;
  trains_ = true;
  if (copy_ && now - last_asked_ > kForgets) forget_all();
  return wanted_ != kNone && step >= wanted_;
}

void StateLending::take(NodeSelf& self) {
  auto copy = std::make_shared<Copy>();
  copy->name = wanted_;
  copy->step = self.step;
  const StatePieces pieces(self);
  for (const std::span<float> vector : pieces.vectors())
    copy->vectors.emplace_back(vector.begin(), vector.end());
  const MutexLock lock(mutex_);
  forget_all();
  copy_ = std::move(copy);
  copied_ = last_step_;
  follows_ = true;
}

void StateLending::made(std::uint64_t step, std::span<const float> gradient, double rate, double scale) {
  auto one = std::make_shared<StepMade>();
  one->step = step;
  one->rate = rate;
  one->scale = scale;
  one->bytes = coded_gradient(gradient);
  keep(std::move(one));
}

void StateLending::made(NodeSelf& self, bool changed) {
  auto one = std::make_shared<StepMade>();
  one->by = changed ? StepMade::By::result : StepMade::By::nothing;
  one->step = self.step;
  for (const std::span<const float> vector : shared_vectors(self))
    if (changed)
      one->bytes.insert(one->bytes.end(), std::as_bytes(vector).begin(), std::as_bytes(vector).end());
  keep(std::move(one));
}

void StateLending::keep(std::shared_ptr<const StepMade> one) {
  const MutexLock lock(mutex_);
  const bool goes_on = copy_ && one->step == (steps_.empty() ? copy_->step : steps_.back()->step + 1);
  kept_ += one->bytes.size();
  if (!goes_on || kept_ > kMostKept) return forget_all();
  steps_.push_back(std::move(one));
}

void StateLending::clear() {
  const MutexLock lock(mutex_);
  forget_all();
}

void StateLending::end(NodeSelf& self, Message word, bool whole) {
  wanted_ = self.step;
  if (whole) take(self);
  wanted_ = kNone;
  follows_ = false;
  const MutexLock lock(mutex_);
  step_ = self.step;
  trains_ = whole;
  end_ = std::move(word);
}

void StateLending::forget_all() {
  follows_ = false;
  wanted_ = kNone;
  copy_.reset();
  steps_.clear();
  kept_ = 0;
}

bool StateLending::good_enough() const {
  if (!copy_) return false;
  const Time age = last_step_ - copied_;
  return copy_->step + steps_.size() == step_ || (age >= Time(0) && age < kFresh);
}

std::shared_ptr<const StepMade> StateLending::step_made(std::uint64_t step) const {
  const MutexLock lock(mutex_);
  if (steps_.empty() || step < steps_.front()->step || step > steps_.back()->step) return nullptr;
  std::shared_ptr<const StepMade> first = steps_[step - steps_.front()->step];
  if (first->by != StepMade::By::nothing) return first;
  const auto changes =
      std::ranges::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(step - steps_.front()->step),
                           steps_.end(), [](const auto& each) { return each->by != StepMade::By::nothing; });
  auto row = std::make_shared<StepMade>(*first);
  row->steps = (changes == steps_.end() ? steps_.back()->step + 1 : (*changes)->step) - step;
  return row;
}

std::optional<Message> StateLending::give(const std::string& name, std::uint64_t offset,
                                          std::uint32_t length) {
  asked_ = true;
  if (name == "step") {
    const MutexLock lock(mutex_);
    if (!trains_) return {};
    return pool_.copy_of_item(StepWord{step_, good_enough() ? copy_->name : kNone, seconds_});
  }
  if (name == "end") {
    const MutexLock lock(mutex_);
    return end_ ? end_ : std::optional(Message{});
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {};
  const std::string what = name.substr(0, slash);
  const std::string_view rest = std::string_view(name).substr(slash + 1);
  const std::size_t second = rest.find('/');
  const auto number = step_named(rest.substr(0, second));
  const auto piece = second == std::string_view::npos ? std::optional<std::uint64_t>(0)
                                                      : step_named(rest.substr(second + 1));
  if (!number || *number == kNone || !piece) return {};
  if (what == "update" || what == "gradient") return give_step(what, *number, offset, length);
  return give_copy(what, *number, *piece);
}

std::optional<Message> StateLending::give_copy(const std::string& what, std::uint64_t number,
                                               std::uint64_t piece) {
  MutexLock lock(mutex_);
  const bool here = copy_ && copy_->name == number;
  if (what == "copy") {
    if (!here && wanted_ != number) {
      if (end_ || number <= step_ || wanted_ != kNone) return {};
      wanted_ = number;
    }
    return pool_.copy_of_item(number);
  }
  if (!here) return wanted_ == number ? std::optional(Message{}) : std::nullopt;
  const std::shared_ptr<const Copy> copy = copy_;
  lock.unlock();  // the node must not wait for hashing
  if (what != "manifest" && what != "piece") return {};
  const StateCut cut(copy->vectors);
  if (what == "manifest") {
    std::vector<std::uint64_t> words{copy->step};
    const std::vector<std::uint64_t> coded = cut.manifest().coded();
    words.insert(words.end(), coded.begin(), coded.end());
    return pool_.copy_of(std::span<const std::uint64_t>(words));
  }
  if (piece >= cut.count()) return {};
  return pool_.copy_of(cut[piece]);
}

std::optional<Message> StateLending::give_step(const std::string& what, std::uint64_t step,
                                               std::uint64_t offset, std::uint32_t length) {
  const std::shared_ptr<const StepMade> made = step_made(step);
  if (!made) {
    const MutexLock lock(mutex_);
    return copy_ && step >= step_ ? std::optional(Message{}) : std::nullopt;
  }
  if (what == "gradient") return cut_from(made->bytes, offset, length, pool_);
  return pool_.copy_of_item(UpdateWord{made->by, made->steps, made->rate, made->scale, made->bytes.size(),
                                       content_hash(made->bytes)});
}

}  // namespace veche
