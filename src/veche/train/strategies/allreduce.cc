#include "veche/comm/allreduce/allreduce.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "veche/comm/allreduce/allreduce_table.h"
#include "veche/comm/engine_collectives.h"
#include "veche/train/compression/coded_sum.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr double kMegabyte = 1 << 20;
constexpr std::size_t kFloatsPerLine = 16;  // floats in a cache line: buckets do not share one

// The [strategy] section.
struct AllReduceOptions {
  explicit AllReduceOptions(const Options& options)
      : algorithm(all_reduce_named(options.get<std::string>("algorithm"))),
        overlap(options.get<bool>("overlap")),
        lines_per_bucket(options.get<double>("bucket") * kMegabyte / sizeof(float) / kFloatsPerLine),
        table(options.get<std::string>("table")) {}

  const AllReduceAlgorithm algorithm;
  const bool overlap;
  const double lines_per_bucket;  // cache lines
  const std::string table;        // a file; empty: the built-in table
};

// g <- the mean of all gradients, over samples: every node then makes the same step from the same
// parameters. The gradient is cut into buckets. Each is an all-reduce of its own, which begins when
// the learner has finished that part, while it still computes the rest. When a bucket begins
// changes only when its first messages leave, and no bit of the result. With a codec whose codes
// cannot be summed on their way, the whole gradient is coded after the pass.
class AllReduce : public Strategy, public BeforeBackward, public MeasuredStrategy {
 public:
  explicit AllReduce(StrategyContext context)
      : context_(std::move(context)), coder_(context_), options_(context_.options) {
    make_buckets();
    // Called inside the pass, by a node that holds a slot: it may send and must never wait.
    if (options_.overlap)
      context_.learner.on_gradient_ready([this](std::size_t from, std::size_t to) { on_ready(from, to); });
  }
  ~AllReduce() override { context_.learner.on_gradient_ready({}); }

  void before_backward(std::uint64_t step) override {
    const auto me = static_cast<std::size_t>(context_.channel.me().value);
    const auto nodes = static_cast<std::size_t>(context_.channel.size());
    share_ = static_cast<float>(context_.samples.share(me, nodes, step));
    for (Bucket& bucket : buckets_) bucket.ready = 0;
    begun_ = 0;
    coded_ = coder_.codes(step);
    wire_ = coded_ ? sum_->wire() : nullptr;
    sent_before_ = context_.channel.sent().bytes;
  }

  Gradient after_backward(std::uint64_t) override {
    if (coded_ && wire_ == nullptr) {
      scale(context_.learner.gradients(), share_);
      sum_->sum(context_.learner.gradients());
      return Gradient::shared;
    }
    while (begun_ < buckets_.size()) begin(buckets_[begun_++]);
    complete_all_reduces(under_way_, wire_ == nullptr ? algorithm_ : half_algorithm_, wire_);
    if (wire_ != nullptr) sum_->count_since(sent_before_, context_.learner.gradients().size());
    return Gradient::shared;
  }

  SavedState state() override {
    SavedState all;
    coder_.add_state(all);
    if (sum_) sum_->add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (sum_) all.remembered_squared = sum_->remembered_squared();
    return all;
  }

 private:
  struct Bucket {
    std::size_t from = 0;  // in the gradient
    std::span<float> part;
    Channel channel;        // of its own: buckets may overtake each other
    std::size_t ready = 0;  // floats that are final
  };

  void make_buckets() {
    const std::span<float> gradient = context_.learner.gradients();
    const Channel& channel = context_.channel;
    std::size_t length = std::min(
        gradient.size(),
        static_cast<std::size_t>(std::ceil(std::min(options_.lines_per_bucket, 1e15))) * kFloatsPerLine);
    algorithm_ = options_.algorithm;
    if (coder_.on()) sum_.emplace(coder_, channel.child(Tag::kChildren - 1), coder_.whole(false), algorithm_);
    half_algorithm_ = half_algorithm(algorithm_);
    if (algorithm_ == AllReduceAlgorithm::automatic) {
      const std::string& file = options_.table;
      algorithm_ = (file.empty() ? default_table(channel.endpoint, true) : AllReduceTable::read(file))
                       .choose(channel.size(), length * sizeof(float));
    }
    // An engine's own sum that does not overlap gives the same in any pieces: one bucket is
    // fastest.
    const EngineCollectives* native = channel.endpoint.collectives();
    if (algorithm_ == AllReduceAlgorithm::native && native != nullptr && !native->overlaps() &&
        !(sum_ && sum_->wire() != nullptr))
      length = gradient.size();
    length = std::max(length, gradient.size() / Tag::kChildren + 1);
    // From the end, where the backward pass begins.
    for (std::size_t to = gradient.size(); to > 0;) {
      const std::size_t from = (to - 1) / length * length;
      buckets_.push_back({from, gradient.subspan(from, to - from), channel.child(buckets_.size())});
      to = from;
    }
    for (Bucket& bucket : buckets_) under_way_.push_back({bucket.channel, bucket.part});
  }

  void on_ready(std::size_t from, std::size_t to) {
    if (coded_ && wire_ == nullptr) return;
    for (Bucket& bucket : buckets_) {
      const std::size_t start = std::max(from, bucket.from);
      const std::size_t end = std::min(to, bucket.from + bucket.part.size());
      if (start >= end) continue;
      bucket.ready += end - start;
    }
    // In the same order on every node, as engines with their own sums need.
    while (begun_ < buckets_.size() && buckets_[begun_].ready == buckets_[begun_].part.size())
      begin(buckets_[begun_++]);
  }

  void begin(Bucket& bucket) {
    scale(bucket.part, share_);
    if (wire_ != nullptr && !sum_->memory().empty())
      wire_->remember(bucket.part, sum_->memory().subspan(bucket.from, bucket.part.size()));
    begin_all_reduce(bucket.channel, bucket.part, wire_ == nullptr ? algorithm_ : half_algorithm_, wire_);
  }

  StrategyContext context_;
  Coder coder_;
  const AllReduceOptions options_;
  std::optional<CodedSum> sum_;    // none without a codec
  bool coded_ = false;             // in this step
  HalfWire* wire_ = nullptr;       // of codes that are summed on their way; null: none
  std::uint64_t sent_before_ = 0;  // this step
  AllReduceAlgorithm algorithm_ = AllReduceAlgorithm::native;
  AllReduceAlgorithm half_algorithm_ = AllReduceAlgorithm::native;  // for sums of halves
  std::vector<Bucket> buckets_;
  std::vector<PendingAllReduce> under_way_;  // of this step, in the order of buckets
  std::size_t begun_ = 0;                    // of this step
  float share_ = 0;
};

}  // namespace

StrategyInfo allreduce_strategy() {
  StrategyInfo info;
  info.name = "allreduce";
  info.rule = "g <- mean of g over all nodes, before every step";
  info.keys = {
      {.name = "algorithm",
       .kind = KeySpec::Kind::text,
       .fallback = Value{std::string("auto")},
       .help = "how the nodes add up",
       .choices = all_reduce_names()},
      {.name = "overlap",
       .kind = KeySpec::Kind::flag,
       .fallback = Value{true},
       .help = "send parts of the gradient while the rest is still computed"},
      {.name = "bucket",
       .kind = KeySpec::Kind::real,
       .fallback = Value{1.0},
       .help = "megabytes of such a part",
       .least = 0,
       .above_least = true},
      {.name = "table",
       .kind = KeySpec::Kind::text,
       .fallback = Value{std::string()},
       .help = "auto: a file made by `veche bench allreduce --tune`; none: the built-in choice",
       .is_path = true},
  };
  info.replicas = [](const Options&) { return Replicas::equal; };
  info.coded = {.exchange = CodedExchange::gradients, .votes = true};
  info.make = [](StrategyContext context) { return std::make_unique<AllReduce>(std::move(context)); };
  return info;
}

}  // namespace veche
