#include "veche/train/pipeline/pipeline.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "veche/collectives.h"
#include "veche/comm/tags.h"
#include "veche/data/feed/loader.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/packed.h"
#include "veche/train/pipeline/targets.h"

namespace veche {
namespace {

constexpr double kBackward = 2;             // times the forward pass
constexpr std::size_t kTestedAtOnce = 100;  // samples
constexpr int kTestsAhead = 2;              // of the next stage: more would fill its memory

std::vector<NodeId> replica_of(const PipelinePlan& plan, NodeId node) {
  std::vector<NodeId> stages;
  for (int s = 0; s < plan.stages; ++s) stages.push_back(plan.node(plan.replica_of(node), s));
  return stages;
}

std::vector<NodeId> peers_of(const PipelinePlan& plan, NodeId node, int nodes) {
  std::vector<NodeId> replicas;
  for (int r = 0; r < plan.replicas(nodes); ++r) replicas.push_back(plan.node(r, plan.stage_of(node)));
  return replicas;
}

}  // namespace

Pipeline::Pipeline(Endpoint& all, MessagePool& pool, AdaptiveTimeout& timeout, Stage& stage,
                   const PipelinePlan& plan, Trace* trace)
    : all_(all),
      pool_(pool),
      stage_(stage),
      plan_(plan),
      stage_number_(plan.stage_of(all.id())),
      trace_(trace),
      replica_(make_group(all, replica_of(plan, all.id()))),
      peers_(make_group(all, peers_of(plan, all.id(), all.size()))),
      activations_(*replica_, pool, timeout, tags::activations),
      gradients_(*replica_, pool, timeout, tags::activation_gradients),
      targets_(*replica_, pool, timeout, tags::targets),
      sums_(*replica_, pool, timeout, tags::stage_sums),
      tests_(*replica_, pool, timeout, tags::test_activations),
      room_(*replica_, pool, timeout, tags::test_credits),
      scores_(*replica_, pool, timeout, tags::test_scores),
      steering_(*replica_, pool, timeout, tags::stage_orders),
      settled_(*replica_, pool, timeout, tags::step_settled) {}

Message Pipeline::expect(Channel& channel, int stage) {
  const Time start = all_.now();
  try {
    Message message = channel.expect(NodeId{stage});
    if (&channel == &tests_ || &channel == &room_) return message;  // not part of training
    waiting_ += all_.now() - start;
    if (trace_ != nullptr) trace_->span("wait", start, all_.now());
    return message;
  } catch (const PeerLost& lost) {
    const std::string known = lost.what();
    throw PeerLost(lost.peer(), "was stage " + std::to_string(stage) + " of replica " +
                                    std::to_string(replica()) + ", which cannot continue: " + known);
  }
}

void Pipeline::blaming(int stage, const std::function<void()>& work) const {
  try {
    work();
  } catch (const DamagedActivation& damage) {
    throw RunError("node " + std::to_string(known_as(stage).value) + " sent " + damage.what());
  }
}

void Pipeline::pass(const char* name, const MicroBatch& part, std::size_t samples, double flops,
                    const std::function<void()>& work, const std::function<void(Time)>& after_pass) {
  const Time asked = all_.now();
  const Time took = all_.compute({.step = part.step, .flops = flops * static_cast<double>(samples)}, work);
  const Time end = all_.now();
  computing_ += took;
  waiting_ += end - asked - took;
  if (trace_ != nullptr) trace_->span(name, end - took, end, part.index);
  if (after_pass) after_pass(took);
}

Score Pipeline::train(const Batch& batch, std::uint64_t step, std::size_t samples,
                      const std::function<void(Time)>& after_pass, const std::function<void()>& passed) {
  stage_.take_score();  // discards the score of passes that a lost peer interrupted
  int back = 0;         // micro-batches that have gone backward
  const int parts = static_cast<int>(
      std::min(static_cast<std::size_t>(plan_.micro_batches), std::max<std::size_t>(samples, 1)));
  const auto s = static_cast<std::size_t>(stage_number_);
  const double flops = plan_.flops_per_sample.empty() ? 0 : plan_.flops_per_sample[s];
  if (first() && !last()) targets_.send(NodeId{plan_.stages - 1}, pack_targets(batch, pool_));
  Message told;  // the targets, at the last stage
  Batch targets;
  for (const StagePass& next : passes_of_stage(plan_.schedule, plan_.stages, stage_number_, parts)) {
    MicroBatch part{.step = step, .index = next.micro_batch, .count = parts, .whole = samples};
    const std::size_t from = first_sample_in(samples, parts, next.micro_batch);
    const std::size_t count = samples_in(samples, parts, next.micro_batch);
    Message made;
    if (next.forward) {
      StageInput input;
      if (first())
        input.batch = batch.part(from, count);
      else
        input.activation = expect(activations_, stage_number_ - 1);
      if (last() && !first()) {
        if (next.micro_batch == 0) {
          told = expect(targets_, 0);
          targets = unpack_targets(told, samples, plan_.task, plan_.input, known_as(0));
          targets.step = step;
        }
        input.batch = targets.part(from, count);
      }
      const std::span<const float> weights = (first() ? batch : targets).weights;
      part.weight = std::accumulate(weights.begin(), weights.end(), 0.0);
      pass(
          "forward", part, count, flops,
          [&] { blaming(stage_number_ - 1, [&] { made = stage_.forward(part, input, pool_); }); },
          after_pass);
      if (!last()) activations_.send(NodeId{stage_number_ + 1}, std::move(made));
    } else {
      const Message gradient = last() ? Message{} : expect(gradients_, stage_number_ + 1);
      const double again = plan_.parts.at(s).recompute ? 1 : 0;
      pass(
          "backward", part, count, (kBackward + again) * flops,
          [&] { blaming(stage_number_ + 1, [&] { made = stage_.backward(part, gradient, pool_); }); },
          after_pass);
      if (++back == parts && passed) passed();
      if (!first()) gradients_.send(NodeId{stage_number_ - 1}, std::move(made));
    }
  }
  return tell_first(stage_.take_score());
}

// The first stage is the last to have its gradient.
void Pipeline::settle() {
  for (int s = 1; s < plan_.stages && first(); ++s) settled_.send(NodeId{s}, pool_.make(1));
  if (!first()) expect(settled_, 0);
}

Score Pipeline::tell_first(const Score& score) {
  if (first() && last()) return score;
  if (last()) scores_.send(NodeId{0}, pool_.copy_of_item(score));
  if (!first()) return {};
  const int teller = plan_.stages - 1;
  return unpack_item<Score>(expect(scores_, teller), known_as(teller), "the score of a batch");
}

Score Pipeline::test(const Dataset& data, std::size_t from, std::size_t to, const Tested& tested,
                     const LentModel* model, ClassScores* classes) {
  BatchStorage storage;
  std::vector<Outcome> outcomes;
  Score score;
  int sent = 0, taken = 0;  // by the next stage
  const auto leave_room = [&](int ahead) {
    for (; sent - taken > ahead; ++taken) expect(room_, stage_number_ + 1);
  };
  for (std::size_t at = from; at < to; at += kTestedAtOnce) {
    const std::size_t count = std::min(kTestedAtOnce, to - at);
    StageInput input;
    if (first()) {
      input.batch = read_batch(data, at, count, storage);
    } else {
      input.activation = expect(tests_, stage_number_ - 1);
      room_.send(NodeId{stage_number_ - 1}, pool_.make(1));
      if (last()) input.batch = read_batch(data, at, count, storage, BatchStorage::What::targets);
    }
    if (classes != nullptr && classes->collects() && last()) outcomes.assign(count, {});
    Message made;
    all_.compute({.step = at}, [&] {
      std::optional<Lending> lending;
      if (model != nullptr) lending.emplace(stage_, *model);
      blaming(stage_number_ - 1, [&] { made = stage_.test(input, pool_, score, outcomes); });
    });
    if (!outcomes.empty()) classes->add(input.batch, outcomes);
    if (!last()) {
      tests_.send(NodeId{stage_number_ + 1}, std::move(made));
      ++sent;
      leave_room(kTestsAhead);
    }
    if (tested) tested(count);
  }
  leave_room(0);
  return tell_first(score);
}

void Pipeline::say(const Message& word) {
  for (int s = 1; s < plan_.stages; ++s) steering_.send(NodeId{s}, word);
}

// No deadline: the first stage itself may wait for orders.
Message Pipeline::heard() {
  Received received = replica_->receive(NodeId{0}, steering_.tag, kForever);
  if (received.outcome != Received::Outcome::message) steering_.give_up(NodeId{0}, received.outcome);
  return std::move(received.message);
}

void Pipeline::give(Message what) { steering_.send(NodeId{0}, std::move(what)); }
Message Pipeline::given(int stage) { return expect(steering_, stage); }

double Pipeline::sum(double mine) {
  if (plan_.stages == 1) return mine;
  double all = 0;
  const std::vector<Message> parts = all_gather(sums_, pool_.copy_of_item(mine));
  for (int s = 0; s < plan_.stages; ++s)
    all += unpack_item<double>(parts[static_cast<std::size_t>(s)], known_as(s), "a number to add up");
  return all;
}

Traffic Pipeline::sent() const {
  const Traffic forth = activations_.sent(), back = gradients_.sent();
  return {forth.bytes + back.bytes, forth.messages + back.messages};
}

StageReport Pipeline::report() const {
  return {.stages = plan_.stages,
          .stage = stage_number_,
          .compute_seconds = computing_.count(),
          .bubble_seconds = waiting_.count(),
          .sent = sent(),
          .most_bytes_held = stage_.most_bytes_held()};
}

}  // namespace veche
