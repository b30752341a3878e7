#include "veche/comm/sim/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/Exception.hpp>
#include <simgrid/simix.hpp>
#include <stdexcept>

#include "veche/comm/seeded/in_flight.h"
#include "veche/comm/sim/abort_handler.h"
#include "veche/comm/sim/engine.h"
#include "veche/comm/sim/platform.h"
#include "veche/comm/sim/saved_exceptions.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kBackwardBegins =
    1.0 / 3;  // of a pass: the backward pass takes twice as long as the forward pass

bool has_deadline(Time until) { return until < kForever / 2; }

}  // namespace

SimNodes::SimNodes(int nodes, const SimNetwork& network, const SimPlatform& platform)
    : network_(network),
      platform_(platform),
      all_(static_cast<std::size_t>(nodes)),
      engine_(make_sim_engine(nodes, network)),
      hosts_(build_platform(*engine_, nodes, network, platform)),
      wires_(hosts_, network, [this](Envelope envelope) { deliver(std::move(envelope)); }),
      start_(s4u::Engine::get_clock()) {
  for (std::size_t i = 0; i < all_.size(); ++i)
    all_[i].speed = network_.speed.empty() ? hosts_[i]->get_speed() : network_.speed[i];
}

Time SimNodes::now() const { return Time(std::max(s4u::Engine::get_clock() - start_, reached_)); }

SimNodes::Task& SimNodes::task() const {
  if (running_ == nullptr)
    throw std::logic_error(
        "an endpoint is used by a thread that is neither a node of a run nor a helper (Endpoint::spawn)");
  return *running_;
}

template <class Call>
void SimNodes::in_kernel(Call call) {
  Task* const me = running_;
  {
    const SavedExceptions away;
    call();
  }
  running_ = me;
}

// Time cannot pass before all actors wait, so this is soon enough.
void SimNodes::settle() {
  if (!wires_.has_posted() && to_ring_.empty()) return;
  in_kernel([this] {
    simgrid::kernel::actor::simcall_answered([this] {
      wires_.leave();
      std::vector<Task*> ringing;
      ringing.swap(to_ring_);
      for (Task* const task : ringing) task->bell->release();
    });
  });
}

void SimNodes::let_others_go() {
  settle();
  in_kernel([] { s4u::this_actor::yield(); });
}

void SimNodes::ring(Task& task) {
  if (task.wait == nullptr || task.rung) return;
  task.rung = true;
  last_ring_ = s4u::Engine::get_clock();
  if (!has_deadline(task.wait->until)) --for_ever_;
  if (s4u::Actor::is_maestro())
    task.bell->release();
  else
    to_ring_.push_back(&task);
}

// Returns when woken, or at the deadline. Other actors run at any call into SimGrid, so the bell
// must be registered before.
void SimNodes::wait(const Wait& what) {
  Task& me = task();
  me.wait = &what;
  me.rung = false;
  if (what.tag) (what.from ? one(*what.from).awaited_by : wait_for_anyone_).emplace(me.number, &me);
  if (has_deadline(what.until)) {
    settle();
    const double left = (what.until - now()).count();
    bool timed_out = true;
    if (left > 0) in_kernel([&] { timed_out = me.bell->acquire_timeout(left); });
    if (timed_out) reached_ = std::max(reached_, what.until.count());
  } else {
    ++for_ever_;
    settle();
    if (!me.rung) refuse_standstill();
    settle();
    in_kernel([&] { me.bell->acquire(); });
  }
  me.wait = nullptr;
  if (what.tag) (what.from ? one(*what.from).awaited_by : wait_for_anyone_).erase(me.number);
  const One& mine = one(me.node);
  if (now() < mine.away_until && !mine.gone) wait({{}, {}, mine.away_until});
}

// No task can continue and nothing is in transit: their waits never end.
void SimNodes::refuse_standstill() {
  if (for_ever_ < actors_ || wires_.busy() || !timers_.empty() || !given_up_.empty()) return;
  give_up();
}

void SimNodes::give_up() {
  given_up_ = fmt::format("no node can continue, {:.6f} s after the start: {}{}", now().count(), who_waits(),
                          what_failed());
  for (const auto& [number, task] : tasks_) ring(*task);
}

std::string SimNodes::who_waits() const {
  constexpr std::size_t kEnough = 8;
  std::string all;
  std::size_t named = 0;
  for (const auto& [number, task] : tasks_) {
    if (task->wait == nullptr) continue;
    if (++named > kEnough) return all + fmt::format("; and {} more", tasks_.size() - kEnough);
    const Wait& wait = *task->wait;
    all += (all.empty() ? "" : "; ") + task->name + " waits for " +
           (wait.tag ? name_of(*wait.tag) + " from " +
                           (wait.from ? "node " + std::to_string(wait.from->value) : "anyone")
            : task->computes ? "its host to compute again"
                             : "its helpers to end");
  }
  return all;
}

void SimNodes::check(NodeId node) {
  const One& mine = one(node);
  if (mine.ended || mine.gone || !given_up_.empty()) throw NodeEnded();
  if (!mine.errors.empty()) std::rethrow_exception(mine.errors.front());
}

void SimNodes::lose(NodeId node) {
  One& mine = one(node);
  if (!mine.alive) return;
  if (!s4u::Actor::is_maestro()) settle();  // its messages arrive before its loss
  if (!mine.alive) return;                  // its host has failed meanwhile
  mine.alive = false;
  lost_.push_back(node);
  for (const auto& [number, task] : mine.awaited_by) ring(*task);
  for (const auto& [number, task] : mine.tasks) ring(*task);
  for (const auto& [number, task] : wait_for_anyone_) ring(*task);
}

Time SimNodes::compute(NodeId node, const Work& what, const std::function<void()>& work) {
  check(node);
  Task& me = task();
  ++me.passes;
  try {
    work();
  } catch (...) {
    --me.passes;
    throw;
  }
  --me.passes;
  const std::vector<Envelope> held = std::move(me.held);
  me.held.clear();
  const Time start = now();
  const Time cost(what.flops / one(node).speed);
  if (!has_deadline(start + cost))
    throw RunError(fmt::format("a pass of node {} takes {:g} s at the {:g} operations a second of its host",
                               node.value, cost.count(), one(node).speed));
  me.computes = true;
  me.since = start;
  me.done = Time(0);
  const auto pass = [&](double part) {
    const auto end = [&] {
      const double rate = one(node).rate;
      return rate > 0 ? me.since + (part * cost - me.done) / rate : kForever;
    };
    while (now() < end()) {
      wait({{}, {}, end()});
      check(node);
    }
  };
  for (std::size_t i = 0; i < held.size(); ++i) {
    pass(kBackwardBegins +
         (1 - kBackwardBegins) * static_cast<double>(i + 1) / static_cast<double>(held.size()));
    wires_.post(held[i]);
  }
  if (cost > Time(0))
    pass(1);
  else
    let_others_go();
  me.computes = false;
  check(node);
  return now() - start;
}

void SimNodes::spawn(NodeId node, std::function<void()> helper) {
  check(node);
  One& mine = one(node);
  const int number = ++mine.spawned;
  ++mine.helpers;
  ++actors_;
  in_kernel([&] {
    s4u::Actor::create(
        fmt::format("helper {} of node {}", number, node.value), hosts_[static_cast<std::size_t>(node.value)],
        [this, node, number, helper = std::move(helper)] { run_helper(node, number, helper); });
  });
}

// While it lives, the actor is a task that others can find.
class SimNodes::Here {
 public:
  Here(SimNodes& nodes, NodeId node, std::string name) : nodes_(nodes) {
    me_.node = node;
    me_.number = nodes.numbers_++;
    me_.name = std::move(name);
    nodes.running_ = &me_;
    nodes.tasks_.emplace(me_.number, &me_);
    nodes.one(node).tasks.emplace(me_.number, &me_);
  }
  ~Here() {
    nodes_.tasks_.erase(me_.number);
    nodes_.one(me_.node).tasks.erase(me_.number);
    std::erase(nodes_.to_ring_, &me_);  // it may have continued by a deadline at the same moment
  }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

 private:
  SimNodes& nodes_;
  Task me_;
};

// The exception of the work; null if it was ended because its node has ended, its host is gone or
// the run was given up.
std::exception_ptr SimNodes::outcome(NodeId node, const std::function<void()>& work) {
  try {
    check(node);
    work();
  } catch (const NodeEnded&) {
    // The expected end.
  } catch (const simgrid::ForcefulKillException&) {
    throw;  // SimGrid ends the actor
  } catch (...) {
    if (failures_.empty()) failed_then_ = what_failed();
    failures_.push_back(std::current_exception());
    return failures_.back();
  }
  return nullptr;
}

void SimNodes::run_helper(NodeId node, int number, const std::function<void()>& helper) {
  One& mine = one(node);
  {
    const Here here(*this, node, fmt::format("helper {} of node {}", number, node.value));
    if (const std::exception_ptr error = outcome(node, helper)) {
      mine.errors.push_back(error);
      lose(node);
    }
  }
  --mine.helpers;
  --actors_;
  for (const auto& [task_number, task] : mine.tasks)
    if (task->wait != nullptr && !task->wait->tag) ring(*task);
  settle();
}

void SimNodes::run_one(NodeId node, const std::function<void(NodeId)>& body) {
  One& mine = one(node);
  {
    const Here here(*this, node, fmt::format("node {}", node.value));
    outcome(node, [&] { body(node); });
    mine.ended = true;
    lose(node);
    for (const auto& [number, task] : mine.tasks) ring(*task);
    while (mine.helpers > 0) wait({{}, {}, kForever});
  }
  settle();
  if (--actors_ == 0) stop();
}

// No node is left to learn of a loss or to send.
void SimNodes::stop() {
  in_kernel([this] {
    simgrid::kernel::actor::simcall_answered([this] {
      for (const auto& [number, timer] : timers_) timer->remove();
      timers_.clear();
      decisive_ = 0;
      wires_.stop();
    });
  });
}

void SimNodes::run(const std::function<void(NodeId)>& body) {
  wires_.start();
  for (int i = 0; i < size(); ++i) {
    ++actors_;
    s4u::Actor::create(fmt::format("node {}", i), hosts_[static_cast<std::size_t>(i)],
                       [this, i, &body] { run_one(NodeId{i}, body); });
  }
  for (const SimLoss& loss : network_.losses) expect_loss(loss, 0);
  for (const SimProfile& profile : platform_.profiles) play(profile, 0);
  {
    const SimGridAbortHandler in_words(platform_.file);
    engine_->run();
  }
  running_ = nullptr;
  if (given_up_.empty()) return failures_.empty() ? void() : rethrow_with_failures();
  std::string after;
  try {
    rethrow_cause(failures_);
  } catch (const std::exception& error) {
    after = std::string("; this came after: ") + error.what();
  }
  throw RunError(given_up_ + after);
}

// A lost or silent peer may be innocent: its host or a link may have failed.
void SimNodes::rethrow_with_failures() const {
  try {
    rethrow_cause(failures_);
  } catch (const PeerLost& lost) {
    if (failed_then_.empty()) throw;
    const std::string peer = "node " + std::to_string(lost.peer().value) + " ";
    throw PeerLost(lost.peer(), std::string(lost.what()).substr(peer.size()) + failed_then_);
  }
  throw std::logic_error("a run failed without a cause");
}

}  // namespace veche
