#include <algorithm>
#include <atomic>

#include "veche/collectives.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/strategies.h"

namespace veche {
namespace {

// Nodes that are threads of one process share one vector: each reads it as it is, computes, and
// adds what its optimiser makes of it, without locks. Updates may be lost where two write at once;
// with many parameters that is seldom and does not matter. The races are meant: every access is a
// relaxed atomic one.
class Hogwild : public Strategy,
                public BeforeBackward,
                public InPlaceStep,
                public AsyncStrategy,
                public MeasuredStrategy {
 public:
  explicit Hogwild(StrategyContext context) : context_(std::move(context)), stepped_(length()) {
    EngineCollectives* engine = context_.channel.endpoint.collectives();
    if (engine != nullptr) {
      const std::span<std::byte> memory =
          engine->shared_memory(tags::shared_vector, sizeof(std::uint64_t) + length() * sizeof(float));
      if (!memory.empty()) {
        updates_ = reinterpret_cast<std::uint64_t*>(memory.data());
        shared_ = reinterpret_cast<float*>(memory.data() + sizeof(std::uint64_t));
      }
    }
    if (shared_ == nullptr)
      throw RequestError(
          "strategy.name = \"hogwild\" needs nodes that are threads of one process, which write one vector: "
          "set "
          "cluster.transport = \"threads\", or use parameter-server with update = \"async\" between "
          "processes");
  }

  // All nodes start with node 0's copy, which may come from a checkpoint.
  void start() override {
    if (context_.me() == 0) write_all();
    barrier(context_.channel);
  }

  void before_backward(std::uint64_t /*step*/) override {
    read_all();
    seen_ = updates().load(std::memory_order_relaxed);
  }
  std::span<float> step_target(std::uint64_t /*step*/) override { return stepped_; }
  void after_step(std::uint64_t step) override {
    if (context_.samples.count(context_.me(), step) == 0) return;
    const std::span<const float> before = context_.learner.parameters();
    for (std::size_t i = 0; i < length(); ++i) {
      const std::atomic_ref<float> item(shared_[i]);
      item.store(item.load(std::memory_order_relaxed) + (stepped_[i] - before[i]), std::memory_order_relaxed);
    }
    staleness_.note(updates().fetch_add(1, std::memory_order_relaxed) - seen_);
  }
  void finish() override { read_all(); }

  void inspect(const std::function<void()>& look) override {
    read_all();
    look();
  }
  Staleness staleness() const override { return staleness_; }

 private:
  std::size_t length() const { return context_.learner.parameters().size(); }
  std::atomic_ref<std::uint64_t> updates() const { return std::atomic_ref<std::uint64_t>(*updates_); }

  void read_all() {
    const std::span<float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < length(); ++i)
      x[i] = std::atomic_ref<float>(shared_[i]).load(std::memory_order_relaxed);
  }
  void write_all() {
    const std::span<const float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < length(); ++i)
      std::atomic_ref<float>(shared_[i]).store(x[i], std::memory_order_relaxed);
  }

  StrategyContext context_;
  std::uint64_t* updates_ = nullptr;  // made so far by all nodes; shared
  float* shared_ = nullptr;
  std::vector<float> stepped_;  // the optimiser's result for the copy
  std::uint64_t seen_ = 0;      // updates before the copy was made
  Staleness staleness_;
};

}  // namespace

StrategyInfo hogwild_strategy() {
  StrategyInfo info;
  info.name = "hogwild";
  info.rule = "threads of one process write one shared vector without locks";
  info.pace = [](const Options&) { return Pace::async; };
  info.replicas = [](const Options&) { return Replicas::bound; };
  info.coded.exchange = CodedExchange::nothing;
  info.refuses_pipeline = [](const Options&) {
    return Refusal{"has one vector in memory that all nodes share",
                   "such as gossip with strategy.async = true"};
  };
  info.make = [](StrategyContext context) { return std::make_unique<Hogwild>(std::move(context)); };
  return info;
}

}  // namespace veche
