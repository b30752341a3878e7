#include "web/serve/batcher.h"

#include <algorithm>

#include "veche/base/machine/denormals.h"

namespace veche::web {
namespace {

// Wait at most this part of a batch's time for the next one to fill: less than a half-full batch
// would lose.
constexpr int kPartToGather = 4;

}  // namespace

Batcher::Batcher(TrainedModel& model, Limits limits)
    : model_(model), limits_(limits), thread_([this] { work(); }) {}

Batcher::~Batcher() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  come_.notify_one();
  thread_.join();
}

std::vector<float> Batcher::predict(std::span<const float> sample) {
  Asked asked{sample};
  const MutexLock lock(mutex_);
  if (ending_ || waiting_.size() >= limits_.waiting)
    throw TooBusy("too many requests: try again in a moment");
  waiting_.push_back(&asked);
  if (waiting_.size() == wanted_) come_.notify_one();
  asked.ready.wait(mutex_, [&] { return asked.done; });
  if (asked.failure) std::rethrow_exception(asked.failure);
  return std::move(asked.answer);
}

Batcher::Counts Batcher::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void Batcher::work() {
  const FlushDenormals flush;
  MutexLock lock(mutex_);
  for (;;) {
    gather();
    if (waiting_.empty()) return;  // all pending requests were answered
    const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), limits_.batch));
    const std::vector<Asked*> batch(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    const auto start = std::chrono::steady_clock::now();
    lock.unlock();
    answer(batch);
    lock.lock();
    took_ = std::chrono::steady_clock::now() - start;
    lately_ = batch.size() + waiting_.size();
    counts_.images += batch.size();
    ++counts_.batches;
    for (Asked* asked : batch) {
      asked->done = true;
      asked->ready.notify_one();  // under the lock, since it lives on the waiter's stack
    }
  }
}

// Waits until there is a batch to compute, or the end.
void Batcher::gather() {
  const auto come = [&]() VECHE_REQUIRES(mutex_) { return ending_ || waiting_.size() >= wanted_; };
  if (lately_ > 1) {
    wanted_ = std::min(lately_, limits_.batch);
    come_.wait_for(mutex_, took_ / kPartToGather, come);
  }
  wanted_ = 1;
  come_.wait(mutex_, come);
}

void Batcher::answer(const std::vector<Asked*>& batch) try {
  const auto classes = static_cast<std::size_t>(model_.classes());
  images_.clear();
  for (const Asked* asked : batch) images_.insert(images_.end(), asked->sample.begin(), asked->sample.end());
  probabilities_.resize(batch.size() * classes);
  model_.predict(images_, probabilities_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto first = probabilities_.begin() + static_cast<std::ptrdiff_t>(i * classes);
    batch[i]->answer.assign(first, first + static_cast<std::ptrdiff_t>(classes));
  }
} catch (...) {
  for (Asked* asked : batch) asked->failure = std::current_exception();
}

}  // namespace veche::web
