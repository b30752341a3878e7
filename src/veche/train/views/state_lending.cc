#include "veche/train/views/state_lending.h"

#include <algorithm>
#include <charconv>

#include "veche/base/content_hash.h"

namespace veche {
namespace {

// The number after the slash; nothing where there is none.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return {};
  return number;
}

Message part_of(std::span<const std::byte> bytes, std::uint64_t offset, std::uint32_t length,
                MessagePool& pool) {
  const std::uint64_t from = std::min<std::uint64_t>(offset, bytes.size());
  return pool.copy_of(bytes.subspan(from, std::min<std::uint64_t>(length, bytes.size() - from)));
}

}  // namespace

void repeat_step(NodeSelf& self, const StepMade& made) {
  if (!made.gradient.empty())
    self.optimizer->update(self.learner->parameters(), made.gradient,
                           {.rate = made.rate, .gradient_scale = made.scale, .number = made.step + 1});
  self.step = made.step + 1;
}

bool StateLending::due(std::uint64_t step, Time now) {
  if (asked_.exchange(false) || now < last_asked_) last_asked_ = now;  // another view has another clock
  const std::lock_guard lock(mutex_);
  if (now > last_step_ && step == step_ + 1) seconds_ += ((now - last_step_).count() - seconds_) / 8;
  last_step_ = now;
  step_ = step;
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
  const std::lock_guard lock(mutex_);
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
  one->gradient.assign(gradient.begin(), gradient.end());
  const std::lock_guard lock(mutex_);
  const bool goes_on = copy_ && step == (steps_.empty() ? copy_->step : steps_.back()->step + 1);
  kept_ += gradient.size_bytes();
  if (!goes_on || kept_ > kMostKept) return forget_all();
  steps_.push_back(std::move(one));
}

void StateLending::clear() {
  const std::lock_guard lock(mutex_);
  forget_all();
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
  const std::lock_guard lock(mutex_);
  if (steps_.empty() || step < steps_.front()->step || step > steps_.back()->step) return nullptr;
  return steps_[step - steps_.front()->step];
}

std::optional<Message> StateLending::give(const std::string& name, std::uint64_t offset,
                                          std::uint32_t length) {
  asked_ = true;
  if (name == "step") {
    const std::lock_guard lock(mutex_);
    return pool_.copy_of_item(StepWord{step_, good_enough() ? copy_->name : kNone, seconds_});
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {};
  const std::string what = name.substr(0, slash);
  const std::string_view rest = std::string_view(name).substr(slash + 1);
  const std::size_t second = rest.find('/');
  const auto number = number_in(rest.substr(0, second));
  const auto piece =
      second == std::string_view::npos ? std::optional<std::uint64_t>(0) : number_in(rest.substr(second + 1));
  if (!number || *number == kNone || !piece) return {};
  if (what == "update" || what == "gradient") return give_step(what, *number, offset, length);
  return give_copy(what, *number, *piece);
}

std::optional<Message> StateLending::give_copy(const std::string& what, std::uint64_t number,
                                               std::uint64_t piece) {
  std::unique_lock lock(mutex_);
  const bool here = copy_ && copy_->name == number;
  if (what == "copy") {
    if (!here && wanted_ != number) {
      if (number <= step_ || wanted_ != kNone) return {};
      wanted_ = number;
    }
    return pool_.copy_of_item(number);
  }
  if (!here) return wanted_ == number ? std::optional(Message{}) : std::nullopt;
  const std::shared_ptr<const Copy> copy = copy_;
  lock.unlock();  // the node must not wait for hashes
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
    const std::lock_guard lock(mutex_);
    return copy_ && step >= step_ ? std::optional(Message{}) : std::nullopt;
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(made->gradient));
  if (what == "gradient") return part_of(bytes, offset, length, pool_);
  return pool_.copy_of_item(UpdateWord{made->rate, made->scale, made->gradient.size(), content_hash(bytes)});
}

}  // namespace veche
