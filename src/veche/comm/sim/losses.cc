// Hosts of simulated nodes that go, for a while or for good.
#include <cmath>

#include "veche/comm/sim/nodes.h"
#include "veche/random.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

}  // namespace

void SimNodes::at(double when, std::function<void()> call) {
  const int number = timer_numbers_++;
  timers_[number] = simgrid::kernel::timer::Timer::set(when, [this, number, call = std::move(call)] {
    timers_.erase(number);
    call();
  });
}

void SimNodes::expect_loss(const SimLoss& loss, std::uint64_t before) {
  if (loss.every == 0) return at(start_ + loss.at, [this, loss] { host_leaves(loss); });
  RandomStream random(network_.seed, "loss of a node", static_cast<std::uint64_t>(loss.node), before);
  const double pause = -loss.every * std::log(1 - random.uniform());
  at(s4u::Engine::get_clock() + pause, [this, loss, before] {
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
  if (for_good) {
    mine.gone = true;
    return lose(node);
  }
  const Time until = std::max(mine.away_until, now() + Time(loss.length));
  const Time longer = until - std::max(mine.away_until, now());
  mine.away_until = until;
  for (const auto& [number, task] : mine.tasks) task->shift += longer;
  at(start_ + until.count(), [this, node] {
    if (now() >= one(node).away_until) wires_.mend(node);
  });
}

}  // namespace veche
