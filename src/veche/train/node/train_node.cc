#include "veche/train/node/train_node.h"

#include "veche/train/async/async_loop.h"
#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/evaluator.h"
#include "veche/train/loop/loop.h"

namespace veche {

Evaluation train_node(const NodeParts& node, TrainingStep& step, const BatchFeed& feed) {
  Evaluator evaluator(node, feed);
  CheckpointWriter checkpoints(node);
  const LoopParts loop{node, step, evaluator, checkpoints};
  step.begin();
  const Evaluation last = node.plan.async() ? run_async(loop) : run_in_step(loop);
  node.links.endpoint().flush();
  step.end();
  return last;
}

}  // namespace veche
