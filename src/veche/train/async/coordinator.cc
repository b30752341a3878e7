#include "veche/train/async/coordinator.h"

#include <algorithm>

#include "veche/comm/tags.h"
#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/train/loop/observer.h"

namespace veche {
namespace {

std::uint64_t after(std::uint64_t step, std::uint64_t every) {
  return every == 0 ? ~std::uint64_t{0} : (step / every + 1) * every;
}

}  // namespace

Coordinator::Coordinator(Setup setup)
    : setup_(std::move(setup)),
      plan_(setup_.plan),
      trainers_(plan_.samples.trainers(static_cast<std::size_t>(setup_.peers.size()))),
      steps_(static_cast<std::size_t>(setup_.peers.size())),
      unheard_(steps_.size()),
      heard_(steps_.size()),
      samples_ended_(steps_.size()),
      progress_(steps_.size()),
      save_number_(setup_.last_checkpoint) {}

void Coordinator::run() {
  while (!(stopped_ && nothing_pending())) {
    hear(evaluation_ ? now() : kForever);
    if (unheard_ > 0) continue;
    if (evaluation_ && evaluation_->advance()) finish_evaluation();
    if (!stopped_) decide();
  }
  setup_.peers.send(NodeId{0}, tags::from_coordinator, pool_.copy_of_item(Order{Order::Kind::done}));
}

// Waits for one message, then takes all that have come.
void Coordinator::hear(Time deadline) {
  for (;;) {
    Received received = setup_.peers.receive({}, tags::to_coordinator, deadline);
    if (received.outcome == Received::Outcome::timed_out) return;
    deadline = now();
    if (received.outcome == Received::Outcome::message)
      take(received.from, std::move(received.message));
    else if (setup_.survives_losses)
      continue;                                           // the next view is without that node
    else if (!stopped_ || owes_something(received.from))  // else the node has ended as ordered
      throw PeerLost(setup_.peers.known_as(received.from), "is gone in the middle of the run");
  }
}

bool Coordinator::owes_something(NodeId node) const {
  const auto index = static_cast<std::size_t>(node.value);
  return (snapshots_missing_ > 0 && snapshots_[index].size == 0) || (saves_missing_ > 0 && !saved_[index]);
}

void Coordinator::take(NodeId from, Message message) {
  const std::size_t bytes = message.size();
  const NodeId known = setup_.peers.known_as(from);
  const auto [told, numbers] = unpack_with_trailer<NodeMessage>(message, known, "a report");
  const std::size_t numbers_due =
      told.kind == NodeMessage::Kind::snapshot ? setup_.parameters + setup_.buffers : 0;
  if (told.kind > NodeMessage::Kind::saved || numbers.size() != numbers_due * sizeof(float))
    throw BadMessage(known, bytes, "a report, or a snapshot with its model,");
  const auto node = static_cast<std::size_t>(from.value);
  steps_[node] = told.steps;
  samples_ended_[node] = told.samples_ended;
  save_number_ = std::max(save_number_, told.saved);  // numbers only grow
  interrupted_ = interrupted_ || told.progress.interrupted;
  const Score before = progress_[node].train;
  progress_[node] = told.progress;
  progress_[node].train += before;
  if (!heard_[node]) {
    heard_[node] = true;
    if (--unheard_ == 0) begin();
  }
  if (told.kind == NodeMessage::Kind::snapshot) {
    if (snapshots_missing_ == 0 || snapshots_[node].message.size() > 0)
      throw BadMessage(known, bytes, "no further snapshot");
    snapshots_[node] = {std::move(message), numbers_due, told.report};
    if (--snapshots_missing_ == 0) begin_evaluation();
  }
  if (told.kind != NodeMessage::Kind::saved) return;
  if (saves_missing_ == 0 || saved_[node]) throw BadMessage(known, bytes, "no further word of a checkpoint");
  saved_[node] = true;
  if (--saves_missing_ == 0) {
    if (setup_.records.tells_all())
      order({.kind = Order::Kind::keep, .step = save_number_});
    else
      setup_.checkpointer->commit(save_number_);
    saved_for_good_ = last_save_;
  }
}

void Coordinator::begin() {
  next_evaluation_ = after(mean_step(), plan_.evaluate_every);
  next_save_ = after(mean_step(), plan_.checkpoint_every);
  last_progress_ = now();
  for (ProgressReport& report : progress_) report.train = {};
}

std::uint64_t Coordinator::total_steps() const {
  std::uint64_t total = 0;
  for (const std::uint64_t steps : steps_) total += steps;
  return total;
}

bool Coordinator::work_done() const {
  if (plan_.shared_steps) return total_steps() >= plan_.steps * trainers_;
  for (std::size_t node = 0; node < steps_.size(); ++node)
    if (plan_.samples.has_data(node) && steps_[node] < plan_.steps) return false;
  return true;
}

bool Coordinator::samples_ended() const {
  for (std::size_t node = 0; node < steps_.size(); ++node)
    if (plan_.samples.has_data(node) && !samples_ended_[node]) return false;
  return true;
}

void Coordinator::decide() {
  if (now() - last_progress_ >= Time(kSecondsBetweenReports)) report_progress();
  const bool keeps = setup_.checkpointer != nullptr;
  if (work_done()) return stop(StopReason::steps, mean_step());
  if (samples_ended()) return stop(StopReason::samples, mean_step());
  if (interrupted_) {
    if (!keeps) return stop(StopReason::interrupted, mean_step());
    if (saved_for_good_) return stop(StopReason::interrupted, save_number_);
    if (saves_missing_ == 0) {
      save();
      last_save_ = true;
    }
    return;
  }
  if (mean_step() >= next_evaluation_ && !evaluation_ && snapshots_missing_ == 0) take_snapshots();
  if (keeps && mean_step() >= next_save_ && saves_missing_ == 0) save();
}

void Coordinator::take_snapshots() {
  next_evaluation_ = after(mean_step(), plan_.evaluate_every);
  snapshots_.assign(steps_.size(), {});
  snapshots_missing_ = steps_.size();
  snapshot_step_ = mean_step();
  order({.kind = Order::Kind::snapshot, .step = snapshot_step_});
}

void Coordinator::save() {
  next_save_ = after(mean_step(), plan_.checkpoint_every);
  // Numbers only grow. A resumed run may begin at a step below the number of its checkpoint.
  save_number_ = std::max(mean_step(), save_number_ + 1);
  saves_missing_ = steps_.size();
  saved_.assign(steps_.size(), false);
  order({.kind = Order::Kind::save, .step = save_number_});
}

void Coordinator::report_progress() {
  const Time time = now();
  const Progress progress =
      summed(std::span(progress_).subspan(plan_.idle()), mean_step(), (time - last_progress_).count());
  if (setup_.observer != nullptr) {
    setup_.observer->on_progress(progress);
    if (!plan_.pipeline || plan_.pipeline->stages == 1) setup_.observer->on_nodes(mean_step(), progress_);
  }
  for (ProgressReport& report : progress_) report.train = {};
  last_progress_ = time;
  order({.kind = Order::Kind::progress, .step = mean_step(), .progress = progress});
}

void Coordinator::begin_evaluation() {
  if (!learner_ && plan_.data.test != nullptr) learner_ = setup_.spare_learner();
  evaluation_.emplace(std::move(snapshots_), snapshot_step_, setup_.parameters, learner_.get(),
                      setup_.endpoint, plan_);
  snapshots_ = {};
}

void Coordinator::finish_evaluation() {
  Evaluation result = evaluation_->result();
  evaluation_.reset();
  result.rate = plan_.schedule.rate(result.step);
  if (setup_.observer != nullptr) setup_.observer->on_evaluation(result);
  if (!stopped_ && plan_.target && plan_.data.test != nullptr &&
      plan_.target->is_reached_by(result.average_model))
    stop(plan_.target->reason, mean_step());
}

void Coordinator::stop(StopReason reason, std::uint64_t step) {
  order({.kind = Order::Kind::stop, .step = step, .reason = stop_reason_chars<24>(reason)});
  stopped_ = true;
}

void Coordinator::order(const Order& what) {
  const Message message = pool_.copy_of_item(what);
  for (int node = 0; node < setup_.peers.size(); ++node)
    setup_.peers.send(NodeId{node}, tags::from_coordinator, message);
}

}  // namespace veche
