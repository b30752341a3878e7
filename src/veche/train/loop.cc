#include "veche/train/loop.h"

#include <algorithm>
#include <string>

#include "veche/base/random.h"
#include "veche/train/glance_exchange.h"
#include "veche/train/node_work.h"
#include "veche/train/own_pace_loop.h"

namespace veche {
namespace {

// All nodes make the same steps, and stop, measure and save after the same one.
class TogetherLoop {
 public:
  explicit TogetherLoop(NodeWork& work) : work_(work), p_(work.parts()), plan_(work.plan()) {}

  Evaluation run() {
    Evaluation last;
    std::string stopped = work_.step() >= plan_.steps ? "steps"
                          : had_reached_target()      ? "target_accuracy"
                                                      : "";
    while (stopped.empty()) {
      work_.train_step();
      if (work_.step() >= plan_.steps) {
        stopped = "steps";
        break;
      }
      if (glances_.after_step()) stopped = "interrupted";
      if (due(plan_.evaluate_every)) {
        last = work_.evaluate("");
        if (stopped.empty() && reached_target(last)) stopped = "target_accuracy";
      }
      if (due(plan_.checkpoint_every) || stopped == "interrupted") work_.checkpoint(work_.step());
    }
    glances_.settle();  // stops already, whatever it says
    // The resumed run goes on as if nothing had happened.
    if (stopped == "interrupted") return interrupted_at(work_.step());
    p_.strategy.finish();
    p_.pruner.apply(p_.learner.parameters());
    last = work_.evaluate(stopped);
    work_.checkpoint(work_.step());
    return last;
  }

 private:
  bool due(std::uint64_t every) const { return every != 0 && work_.step() % every == 0; }

  bool reached_target(const Evaluation& evaluation) const {
    return plan_.target_accuracy && p_.test != nullptr &&
           evaluation.average_model.accuracy() >= *plan_.target_accuracy;
  }

  // Of a run that was killed between reaching it and its end.
  bool had_reached_target() {
    if (work_.step() == 0 || !due(plan_.evaluate_every) || !plan_.target_accuracy || p_.test == nullptr)
      return false;
    Evaluation then;
    const std::vector<float> mean = mean_over_nodes(p_.control_channel, p_.learner.parameters());
    then.average_model = evaluate_mean(p_.control_channel, p_.learner, mean, *p_.test, p_.slots);
    return reached_target(then);
  }

  NodeWork& work_;
  const NodeParts& p_;
  const LoopPlan& plan_;
  GlanceExchange glances_{work_};
};

}  // namespace

bool LoopPlan::tests_model_of(std::size_t node, std::size_t nodes, std::uint64_t step) const {
  if (evaluate_own != Who::sample) return evaluate_own == Who::all;
  std::vector<std::size_t> order(nodes);
  for (std::size_t i = 0; i < nodes; ++i) order[i] = i;
  RandomStream(seed, "evaluation sample", step).shuffle(std::span(order));
  const auto end = order.begin() + std::min(sample_size, static_cast<int>(nodes));
  return std::find(order.begin(), end, node) != end;
}

Evaluation train_node(NodeParts parts, const LoopPlan& plan) {
  NodeWork work(std::move(parts), plan);
  work.begin();
  return plan.own_pace ? run_at_own_pace(work) : TogetherLoop(work).run();
}

std::vector<std::span<float>> state_vectors(Learner& learner, Optimizer& optimizer, Pruner& pruner,
                                            Strategy& strategy) {
  std::vector<std::span<float>> vectors{learner.parameters(), learner.buffers()};
  for (const std::span<float> part : optimizer.state()) vectors.push_back(part);
  if (!pruner.mask().empty()) vectors.push_back(pruner.mask());
  for (const std::span<float> part : strategy.state()) vectors.push_back(part);
  return vectors;
}

}  // namespace veche
