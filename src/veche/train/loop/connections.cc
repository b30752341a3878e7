#include "veche/train/loop/connections.h"

#include "veche/comm/tags.h"
#include "veche/driven_learner.h"

namespace veche {
namespace {

// A training loop outside the run may pause for long, as to test its model or to compile it. Lost
// nodes are noticed by the engine meanwhile.
constexpr Time kOutsideLoopMayPause(3600);

AdaptiveTimeout timeout_for(const Learner& learner) {
  const bool driven = dynamic_cast<const DrivenLearner*>(&learner) != nullptr;
  return driven ? AdaptiveTimeout(kOutsideLoopMayPause) : AdaptiveTimeout();
}

}  // namespace

Connections::Connections(std::unique_ptr<Endpoint> endpoint, MessagePool shared_pool, Learner& learner,
                         const TrainingPlan& plan)
    : endpoint_(std::move(endpoint)),
      stages_(plan.pipeline ? plan.pipeline->stages : 1),
      traced_(plan.trace),
      pool(std::move(shared_pool)),
      timeout(timeout_for(learner)),
      pipeline_(plan.pipeline
                    ? std::make_unique<Pipeline>(*endpoint_, pool, timeout, dynamic_cast<Stage&>(learner),
                                                 *plan.pipeline, plan.trace ? &trace_ : nullptr)
                    : nullptr),
      control(*endpoint_, pool, timeout, tags::control),
      progress(*endpoint_, pool, timeout, tags::progress),
      samples(peers(), pool, timeout, tags::samples),
      strategy(counted, pool, timeout, tags::strategy),
      stage_control(peers(), pool, timeout, tags::stage_peers),
      learners(peers(), pool, timeout, tags::learners) {
  if (traced_) strategy.on_wait([this](Time took) { trace_.span("wait", now() - took, now()); });
}

}  // namespace veche
