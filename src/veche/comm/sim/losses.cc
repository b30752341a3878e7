// Hosts of simulated nodes that fail, temporarily or for good.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/comm/sim/nodes.h"
#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

}  // namespace

void SimNodes::at(double when, bool decisive, std::function<void()> call) {
  const int number = timer_numbers_++;
  decisive_ += decisive ? 1 : 0;
  timers_[number] =
      simgrid::kernel::timer::Timer::set(when, [this, number, decisive, call = std::move(call)] {
        timers_.erase(number);
        decisive_ -= decisive ? 1 : 0;
        refuse_endless_repetition();
        call();
      });
}

// If hosts or links fail periodically for ever, timers never end. If no node was woken while each
// of them failed and returned twice, none will be.
void SimNodes::refuse_endless_repetition() {
  if (for_ever_ < actors_ || wires_.busy() || decisive_ > 0 || !given_up_.empty()) return;
  if (s4u::Engine::get_clock() - last_ring_ > 2 * longest_cycle_) give_up();
}

void SimNodes::expect_loss(const SimLoss& loss, std::uint64_t before) {
  if (!std::isinf(loss.length)) longest_cycle_ = std::max(longest_cycle_, loss.length);
  if (loss.every == 0) return at(start_ + loss.at, true, [this, loss] { host_leaves(loss); });
  RandomStream random(network_.seed, "loss of a node", static_cast<std::uint64_t>(loss.node), before);
  const double pause = -loss.every * std::log(1 - random.uniform());
  at(s4u::Engine::get_clock() + pause, std::isinf(loss.length), [this, loss, before] {
    host_leaves(loss);
    if (!std::isinf(loss.length)) expect_loss(loss, before + 1);
  });
}

void SimNodes::host_leaves(const SimLoss& loss) {
  const NodeId node{loss.node};
  One& mine = one(node);
  if (mine.ended || mine.gone) return;
  const bool for_good = std::isinf(loss.length);
  wires_.cut(node, for_good);
  failed(fmt::format("host \"{}\" of node {}", host_name(node), node.value));
  if (for_good) {
    mine.gone = true;
    return lose(node);
  }
  mine.away_until = std::max(mine.away_until, now() + Time(loss.length));
  set_rate(node);
  at(start_ + mine.away_until.count(), false, [this, node] {
    if (now() >= one(node).away_until) host_returns(node);
  });
}

void SimNodes::host_returns(NodeId node) {
  failed_.erase(fmt::format("host \"{}\" of node {}", host_name(node), node.value));
  set_rate(node);
  wires_.mend(node);
}

// Its passes continue at the host's current rate.
void SimNodes::set_rate(NodeId node) {
  One& mine = one(node);
  for (const auto& [number, task] : mine.tasks) {
    task->done += (now() - task->since) * mine.rate;
    task->since = now();
  }
  mine.rate = now() < mine.away_until ? 0 : mine.availability;
  for (const auto& [number, task] : mine.tasks)
    if (task->computes && mine.rate > 0) ring(*task);
}

void SimNodes::failed(const std::string& what) { failed_.try_emplace(what, now().count()); }

std::string SimNodes::what_failed() const {
  std::string all;
  for (const auto& [what, since] : failed_) all += fmt::format("; {} failed at {:g} s", what, since);
  return all;
}

}  // namespace veche
