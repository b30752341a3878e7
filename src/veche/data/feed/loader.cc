#include "veche/data/feed/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "veche/data/feed/prefetch_queue.h"
#include "veche/random.h"

namespace veche {
namespace {

// A batch being prepared. The loader's thread chooses the samples; the thread that runs the job
// fills them in.
class Slot final : public PrefetchJob {
 public:
  Slot(std::shared_ptr<const Dataset> data, std::size_t most, const Loader::Plan& plan)
      : data_(std::move(data)),
        seed_(plan.seed),
        class_weights_(plan.class_weights),
        storage_(*data_, plan.augment) {
    samples.reserve(most);
    epochs.reserve(most);
    storage_.make_room(*data_, most);
    if (!class_weights_.empty()) weights_.resize(most);
  }
  Batch batch() const {
    Batch batch = storage_.batch(samples.size());
    batch.step = step;
    if (!weights_.empty()) batch.weights = std::span(weights_).first(samples.size());
    return batch;
  }

  std::vector<std::uint32_t> samples;
  std::vector<std::uint64_t> epochs;  // epoch of each sample's shard
  std::uint64_t step = 0;

 private:
  void run() override {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const RandomStream chances(seed_, "augment", epochs[i], samples[i]);
      storage_.read(samples[i], i, &chances);
    }
    if (!weights_.empty()) weigh_classes();
  }

  // The weights of classes times those that the set gives.
  void weigh_classes() {
    const Batch batch = storage_.batch(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i)
      weights_[i] = class_weights_[static_cast<std::size_t>(batch.labels[i])] *
                    (batch.weights.empty() ? 1.0F : batch.weights[i]);
  }

  const std::shared_ptr<const Dataset> data_;
  const std::uint64_t seed_;
  const std::vector<float> class_weights_;
  BatchStorage storage_;
  std::vector<float> weights_;
};

}  // namespace

// The loader's thread chooses the samples, which is cheap. Workers only read samples into a slot
// and share nothing else, so their number cannot change the result.
struct Loader::Impl {
  Impl(const std::shared_ptr<const Dataset>& data, std::vector<Shard> parts, Plan how,
       const Prefetcher& prefetcher)
      : shards(std::move(parts)),
        plan(std::move(how)),
        queue(prefetcher.queue()),
        step(plan.first_step),
        prepared(plan.first_step),
        end(plan.waits_for_epochs ? plan.first_step : std::numeric_limits<std::uint64_t>::max()) {
    if (plan.batch == 0) throw std::invalid_argument("a batch holds at least one sample");
    const auto needed_by = [](const Shard& shard) {
      return std::max<std::uint64_t>(1, (shard.samples.size() + shard.batch - 1) / shard.batch);
    };
    std::size_t most = 0;
    std::uint64_t needed = 1;
    for (Shard& shard : shards) {
      if (shard.batch == 0) shard.batch = plan.batch;
      for (const std::uint32_t sample : shard.samples) {
        if (sample >= data->size()) throw std::invalid_argument("a shard names a sample that does not exist");
      }
      needed = std::max(needed, needed_by(shard));
      most += std::min(shard.batch, shard.samples.size());
      orders.push_back(shard.samples);
    }
    if (plan.steps_per_epoch == 0) plan.steps_per_epoch = needed;
    for (Shard& shard : shards) {
      if (shard.steps_per_epoch == 0) shard.steps_per_epoch = plan.steps_per_epoch;
      if (shard.steps_per_epoch < needed_by(shard))
        throw std::invalid_argument("an epoch is too short to visit every sample");
    }
    shuffled.resize(shards.size());
    // One slot in use, and one in preparation per worker.
    for (int i = 0; i <= std::max(1, prefetcher.workers()); ++i)
      slots.push_back(std::make_unique<Slot>(data, most, plan));
    prepare_ahead();
  }
  ~Impl() {
    for (const auto& slot : slots) queue->cancel(*slot);
  }

  Slot& slot_of(std::uint64_t which) { return *slots[which % slots.size()]; }

  void prepare_ahead() {
    while (prepared < std::min<std::uint64_t>(step + slots.size() - 1, end)) prepare(prepared++);
  }

  void prepare(std::uint64_t which) {
    Slot& slot = slot_of(which);
    slot.step = which;
    slot.samples.clear();
    slot.epochs.clear();
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::optional<std::uint64_t> given = plan.turn ? plan.turn(shards[i].node, which) : which;
      if (!given) continue;
      const std::uint64_t epoch = *given / shards[i].steps_per_epoch;
      const std::uint64_t turn = *given % shards[i].steps_per_epoch;
      if (shuffled[i] != epoch) shuffle(i, epoch);
      const std::vector<std::uint32_t>& order = orders[i];
      // Divide instead of multiplying: an overflowing product would revive an exhausted shard.
      const std::size_t batch = shards[i].batch;
      if (turn > order.size() / batch) continue;
      const std::size_t from = std::min<std::size_t>(turn * batch, order.size());
      const std::size_t count = std::min(batch, order.size() - from);
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(from);
      slot.samples.insert(slot.samples.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
      slot.epochs.insert(slot.epochs.end(), count, epoch);
    }
    queue->push(slot);
  }

  // Starts from the original shard, not from the last order: an epoch must not depend on earlier
  // ones.
  void shuffle(std::size_t i, std::uint64_t epoch) {
    std::copy(shards[i].samples.begin(), shards[i].samples.end(), orders[i].begin());
    RandomStream stream(plan.seed, "shuffle", static_cast<std::uint64_t>(shards[i].node), epoch);
    stream.shuffle(std::span(orders[i]));
    shuffled[i] = epoch;
  }

  std::vector<Shard> shards;
  Plan plan;
  const std::shared_ptr<Prefetcher::Queue> queue;
  std::vector<std::vector<std::uint32_t>> orders;  // the shards' samples in the order of the current epoch
  std::vector<std::optional<std::uint64_t>> shuffled;  // the epoch of each shard's current order
  std::uint64_t step;                                  // step of the batch that next() returns
  std::uint64_t prepared;                              // first step not yet queued
  std::uint64_t end;                                   // first step that may not be prepared yet
  std::atomic<std::uint64_t> times_waited = 0;
  std::atomic<double> seconds_waited = 0;
  std::vector<std::unique_ptr<Slot>> slots;
};

Loader::Loader(std::shared_ptr<const Dataset> data, std::vector<Shard> shards, Plan plan,
               Prefetcher& prefetcher)
    : impl_(std::make_unique<Impl>(data, std::move(shards), std::move(plan), prefetcher)) {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

void Loader::begin_epoch(std::uint64_t epoch, std::vector<Shard> shards) {
  Impl& impl = *impl_;
  const std::uint64_t first = epoch * impl.plan.steps_per_epoch;
  if (impl.step != impl.end || impl.step < first || impl.step > first + impl.plan.steps_per_epoch)
    throw std::logic_error("an epoch begins when all batches of the one before were taken");
  bool same_sizes = shards.size() == impl.shards.size();
  for (std::size_t i = 0; same_sizes && i < shards.size(); ++i)
    same_sizes = shards[i].samples.size() == impl.shards[i].samples.size();
  if (!same_sizes) throw std::invalid_argument("shards must keep their sizes");
  for (std::size_t i = 0; i < shards.size(); ++i) {
    impl.shards[i].node = shards[i].node;
    impl.shards[i].samples = std::move(shards[i].samples);
    impl.shuffled[i].reset();
  }
  impl.end = first + impl.plan.steps_per_epoch;
  impl.prepare_ahead();
}

Batch Loader::next() {
  if (impl_->step >= impl_->end) throw std::logic_error("the epoch was not begun");
  Slot& slot = impl_->slot_of(impl_->step);
  const auto begin = std::chrono::steady_clock::now();
  try {
    if (impl_->queue->finish(slot)) {
      const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      ++impl_->times_waited;
      impl_->seconds_waited += waited;
      impl_->queue->seconds_waited += waited;
    }
  } catch (...) {
    impl_->queue->push(slot);
    throw;
  }
  ++impl_->step;
  impl_->prepare_ahead();
  return slot.batch();
}

std::uint64_t Loader::times_waited() const { return impl_->times_waited; }
double Loader::seconds_waited() const { return impl_->seconds_waited; }

Batch read_batch(const Dataset& data, std::size_t from, std::size_t count, BatchStorage& storage,
                 BatchStorage::What what) {
  count = std::min(count, data.size() - std::min(from, data.size()));
  storage.make_room(data, count, what);
  for (std::size_t i = 0; i < count; ++i) storage.read(from + i, i);
  return storage.batch(count);
}

}  // namespace veche
