#include "veche/data/feed/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include "veche/data/feed/prefetch_queue.h"
#include "veche/data/sets/bulk_samples.h"
#include "veche/random.h"

namespace veche {
namespace {

// Batches of consecutive steps, being prepared together. The loader's thread chooses the samples; the
// thread that runs the job fills them in.
class Slot final : public PrefetchJob {
 public:
  // Room for `batches` of up to `most` samples.
  Slot(std::shared_ptr<const Dataset> data, std::size_t most, std::size_t batches, const Loader::Plan& plan)
      : data_(std::move(data)),
        seed_(plan.seed),
        class_weights_(plan.class_weights),
        storage_(*data_, plan.augment) {
    samples_.reserve(most * batches);
    epochs_.reserve(most * batches);
    ends_.reserve(batches);
    storage_.make_room(*data_, most * batches);
    if (!class_weights_.empty()) weights_.resize(most * batches);
  }

  // The first batch is that of step `first`.
  void empty(std::uint64_t first) {
    first_ = first;
    samples_.clear();
    epochs_.clear();
    ends_.clear();
  }
  // To the present batch; `epoch` is that of the samples' shard.
  void add(std::span<const std::uint32_t> samples, std::uint64_t epoch) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    if (!storage_.bulk()) epochs_.insert(epochs_.end(), samples.size(), epoch);
  }
  void end_batch() { ends_.push_back(samples_.size()); }

  std::size_t batches() const { return ends_.size(); }
  bool has(std::uint64_t step) const { return step >= first_ && step - first_ < ends_.size(); }
  Batch batch(std::uint64_t step) const {
    const std::size_t which = step - first_, from = which == 0 ? 0 : ends_[which - 1];
    Batch all = storage_.batch(samples_.size());
    if (!weights_.empty()) all.weights = std::span(weights_).first(samples_.size());
    Batch batch = all.part(from, ends_[which] - from);
    batch.step = step;
    return batch;
  }

 private:
  void run() override {
    if (storage_.bulk()) {
      storage_.read_many(samples_);
    } else {
      for (std::size_t i = 0; i < samples_.size(); ++i) {
        const RandomStream chances(seed_, "augment", epochs_[i], samples_[i]);
        storage_.read(samples_[i], i, &chances);
      }
    }
    if (!weights_.empty()) weigh_classes();
  }

  // The weights of classes times those that the set gives.
  void weigh_classes() {
    const Batch batch = storage_.batch(samples_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i)
      weights_[i] = class_weights_[static_cast<std::size_t>(batch.labels[i])] *
                    (batch.weights.empty() ? 1.0F : batch.weights[i]);
  }

  const std::shared_ptr<const Dataset> data_;
  const std::uint64_t seed_;
  const std::vector<float> class_weights_;
  std::uint64_t first_ = 0;
  std::vector<std::uint32_t> samples_;
  std::vector<std::uint64_t> epochs_;  // of each sample's shard; unused where samples are read in bulk
  std::vector<std::size_t> ends_;      // of the batches, among the samples
  BatchStorage storage_;
  std::vector<float> weights_;
};

// To hand a batch to another thread takes a microsecond or two, as long as copying the rows of a
// small one. Several are handed over at once where they are that cheap, and small.
std::size_t batches_together(const Dataset& data, std::size_t samples) {
  constexpr std::size_t kBytes = 128 << 10, kMost = 64;
  if (dynamic_cast<const BulkSamples*>(&data) == nullptr) return 1;
  const std::size_t bytes = std::max<std::size_t>(1, samples * data.shape().size() * sizeof(float));
  return std::clamp<std::size_t>(kBytes / bytes, 1, kMost);
}

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
    batches_per_slot = batches_together(*data, most);
    // One slot in use, and one in preparation per worker.
    for (int i = 0; i <= std::max(1, prefetcher.workers()); ++i)
      slots.push_back(std::make_unique<Slot>(data, most, batches_per_slot, plan));
    prepare_ahead();
  }
  ~Impl() {
    for (const auto& slot : slots) queue->cancel(*slot);
  }

  Slot& slot_of(std::uint64_t which) { return *slots[which % slots.size()]; }

  void prepare_ahead() {
    while (prepared < end && slots_filled < slots_used + slots.size() - 1) fill(slot_of(slots_filled++));
  }

  void fill(Slot& slot) {
    slot.empty(prepared);
    while (slot.batches() < batches_per_slot && prepared < end) {
      choose(prepared++, slot);
      slot.end_batch();
    }
    queue->push(slot);
  }

  // The samples of a step.
  void choose(std::uint64_t which, Slot& slot) {
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
      slot.add(std::span(order).subspan(from, std::min(batch, order.size() - from)), epoch);
    }
  }

  void use_next_slot() {
    Slot& slot = slot_of(slots_used);
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (queue->finish(slot)) {
        const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        ++times_waited;
        seconds_waited += waited;
        queue->seconds_waited += waited;
      }
    } catch (...) {
      queue->push(slot);
      throw;
    }
    ++slots_used;
    prepare_ahead();
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
  std::uint64_t slots_used = 0;                        // the last of them is in use
  std::uint64_t slots_filled = 0;
  std::size_t batches_per_slot = 1;
  std::uint64_t end;  // first step that may not be prepared yet
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
  if (impl_->slots_used == 0 || !impl_->slot_of(impl_->slots_used - 1).has(impl_->step))
    impl_->use_next_slot();
  return impl_->slot_of(impl_->slots_used - 1).batch(impl_->step++);
}

std::uint64_t Loader::times_waited() const { return impl_->times_waited; }
double Loader::seconds_waited() const { return impl_->seconds_waited; }

Batch read_batch(const Dataset& data, std::size_t from, std::size_t count, BatchStorage& storage,
                 BatchStorage::What what) {
  count = std::min(count, data.size() - std::min(from, data.size()));
  storage.make_room(data, count, what);
  if (storage.bulk()) storage.read_many(from, count);
  for (std::size_t i = 0; i < count && !storage.bulk(); ++i) storage.read(from + i, i);
  return storage.batch(count);
}

}  // namespace veche
