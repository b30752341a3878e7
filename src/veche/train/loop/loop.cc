#include "veche/train/loop/loop.h"

#include "veche/train/loop/progress_exchange.h"

namespace veche {
namespace {

class Loop {
 public:
  explicit Loop(Node& node) : node_(node), plan_(node.plan()) {}

  Evaluation run() {
    Evaluation last;
    StopReason stopped = node_.step() >= plan_.steps ? StopReason::steps
                         : had_reached_target()      ? StopReason::target_accuracy
                                                     : StopReason::none;
    if (plan_.in_view && stopped == StopReason::none) stopped = make_up();
    while (stopped == StopReason::none) {
      node_.train_step();
      if (node_.step() >= plan_.steps) {
        stopped = StopReason::steps;
        break;
      }
      if (progress_.after_step()) stopped = StopReason::interrupted;
      if (leaves()) return interrupted_at(node_.step());
      if (due(plan_.evaluate_every)) {
        last = node_.evaluate(StopReason::none);
        if (stopped == StopReason::none && reached_target(last)) stopped = StopReason::target_accuracy;
        node_.self().reached_target = stopped == StopReason::target_accuracy;
      }
      if (due(plan_.checkpoint_every) || stopped == StopReason::interrupted) node_.checkpoint(node_.step());
    }
    progress_.settle();  // stops already, whatever it says
    // The resumed run goes on as if nothing had happened.
    if (stopped == StopReason::interrupted) return interrupted_at(node_.step());
    node_.finish();
    node_.pruner().apply(node_.learner().parameters());
    last = node_.evaluate(stopped);
    node_.checkpoint(node_.step());
    return last;
  }

 private:
  bool due(std::uint64_t every) const { return every != 0 && node_.step() % every == 0; }

  bool reached_target(const Evaluation& evaluation) const {
    return plan_.target_accuracy && node_.test() != nullptr &&
           evaluation.average_model.accuracy() >= *plan_.target_accuracy;
  }

  // What the view before has cut off.
  StopReason make_up() {
    NodeSelf& self = node_.self();
    if (self.evaluates_first && reached_target(node_.evaluate(StopReason::none))) self.reached_target = true;
    if (self.saves_first) node_.checkpoint(node_.step());
    return self.reached_target ? StopReason::target_accuracy : StopReason::none;
  }

  // Where members come and go, one that shall end leaves the others to go on.
  bool leaves() const { return plan_.in_view && node_.services().interrupted; }

  // Of a run that was killed between reaching it and its end.
  bool had_reached_target() {
    if (plan_.in_view || node_.step() == 0 || !due(plan_.evaluate_every) || !plan_.target_accuracy ||
        node_.test() == nullptr)
      return false;
    Evaluation then;
    const Message mean = node_.mean_model();
    then.average_model = node_.score_of_mean(mean.as<float>());
    return reached_target(then);
  }

  Node& node_;
  const TrainingPlan& plan_;
  ProgressExchange progress_{node_};
};

}  // namespace

Evaluation run_in_step(Node& node) { return Loop(node).run(); }

}  // namespace veche
