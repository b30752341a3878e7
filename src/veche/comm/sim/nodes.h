#pragma once

#include <exception>
#include <functional>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "veche/comm/sim/inbox.h"
#include "veche/comm/sim/sim.h"
#include "veche/comm/sim/wires.h"

namespace veche {

// State shared by the endpoints of a simulated cluster. One actor runs at a time; at every call
// into SimGrid others may run.
class SimNodes {
 public:
  SimNodes(int nodes, const SimNetwork& network, const SimPlatform& platform);

  int size() const { return static_cast<int>(all_.size()); }
  Time now() const;
  bool alive(NodeId node) const { return one(node).alive; }

  void run(const std::function<void(NodeId)>& body);
  void lose(NodeId node);

  // Called by actors of the node.
  Traffic send(NodeId from, NodeId to, Tag tag, Message message);  // returns the simulated traffic
  Received receive(NodeId me, std::optional<NodeId> from, Tag tag, Time deadline);
  void spawn(NodeId node, std::function<void()> helper);
  Time compute(NodeId node, const Work& what, const std::function<void()>& work);

 private:
  struct Wait {
    std::optional<NodeId> from;
    std::optional<Tag> tag;  // nullopt: for its own computation, or for its helpers
    Time until;
  };
  // A node or a helper, which is an actor.
  struct Task {
    NodeId node;
    int number = 0;
    std::string name = {};
    simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
    const Wait* wait = nullptr;       // while it waits
    bool rung = false;                // it is being woken
    int passes = 0;                   // nesting depth of passes
    std::vector<Envelope> held = {};  // sent inside a pass
    // A pass in progress: its progress at `since`, in seconds of a host at its usual speed.
    bool computes = false;
    Time since{0}, done{0};
  };
  class Here;
  using Tasks = std::map<int, Task*>;  // by number: ordering by address would differ in every run
  struct One {
    bool alive = true;
    bool ended = false;
    bool gone = false;                       // its host, for good
    Time away_until{0};                      // its host
    double availability = 1;                 // of its host's speed
    double rate = 1;                         // current rate of its passes; 0 while its host is down
    std::vector<std::exception_ptr> errors;  // of its helpers
    Tasks tasks;
    int helpers = 0;
    int spawned = 0;  // in total
    Inbox inbox;
    Tasks awaited_by;
    double speed = 0;
  };

  One& one(NodeId node) { return all_[static_cast<std::size_t>(node.value)]; }
  const One& one(NodeId node) const { return all_[static_cast<std::size_t>(node.value)]; }
  Task& task() const;

  std::exception_ptr outcome(NodeId node, const std::function<void()>& work);
  void run_one(NodeId node, const std::function<void(NodeId)>& body);
  void run_helper(NodeId node, int number, const std::function<void()>& helper);
  void check(NodeId node);
  std::optional<NodeId> lost(NodeId me, std::optional<NodeId> from, Tag tag);
  void wait(const Wait& what);
  void let_others_go();
  // Calls into SimGrid, first sending posted messages and waking due tasks.
  template <class Call>
  void in_kernel(Call call);
  void settle();
  void deliver(Envelope envelope);
  void ring(Task& task);
  // On SimGrid's clock, in its kernel. `decisive`: the run is not given up before it.
  void at(double when, bool decisive, std::function<void()> call);
  void stop();
  void expect_loss(const SimLoss& loss, std::uint64_t before);
  void host_leaves(const SimLoss& loss);
  void host_returns(NodeId node);
  void set_rate(NodeId node);
  void play(const SimProfile& profile, std::size_t change);
  void apply(const SimProfile& profile, std::size_t change);
  void set_link(const SimProfile& profile, double value);
  std::string host_name(NodeId node) const {
    return hosts_[static_cast<std::size_t>(node.value)]->get_name();
  }
  void failed(const std::string& what);
  std::string what_failed() const;
  [[noreturn]] void rethrow_with_failures() const;
  void refuse_standstill();
  void refuse_endless_repetition();
  void give_up();
  std::string who_waits() const;
  std::uint64_t travelling_bytes(const Message& message) const;

  const SimNetwork network_;
  const SimPlatform platform_;
  std::vector<One> all_;
  const std::unique_ptr<simgrid::s4u::Engine> engine_;
  const std::vector<simgrid::s4u::Host*> hosts_;
  Wires wires_;
  const double start_;  // of SimGrid's clock
  double reached_ = 0;  // passed deadlines; the clock may be a last digit behind
  Task* running_ = nullptr;
  Tasks tasks_;
  std::vector<Task*> to_ring_;
  Tasks wait_for_anyone_;
  std::vector<NodeId> lost_;  // in that order
  int actors_ = 0;
  int numbers_ = 0;
  int for_ever_ = 0;  // tasks waiting without a deadline that are not being woken
  std::map<int, simgrid::kernel::timer::Timer*> timers_;
  int timer_numbers_ = 0;
  int decisive_ = 0;          // pending decisive timers
  double longest_cycle_ = 0;  // of all periodic events
  double last_ring_ = 0;
  std::map<std::string, double> failed_;  // failed hosts and links, and since when
  // In chronological order: the first PeerLost names the root cause, later ones its consequences.
  std::vector<std::exception_ptr> failures_;
  std::string failed_then_;  // hosts and links down at the first failure
  std::string given_up_;     // the reason; empty: not given up
};

}  // namespace veche
