#include "veche/comm/seeded/seeded.h"

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "veche/base/errors.h"
#include "veche/comm/seeded/letters.h"
#include "veche/comm/seeded/scheduler.h"

namespace veche {
namespace {

// While it lives, the calling thread and those it starts stay on one core. Where one goes at a time, the next
// is woken many times faster there than on another core, the more so on a busy machine.
class OnOneCore {
 public:
  OnOneCore() : known_(sched_getaffinity(0, sizeof before_, &before_) == 0) {
    const int core = sched_getcpu();
    if (!known_ || core < 0) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    sched_setaffinity(0, sizeof only, &only);
  }
  ~OnOneCore() {
    if (known_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
  const bool known_;
};

}  // namespace

// What the endpoints of a cluster share. But for `alive` and `sent`, guarded by the scheduler's baton.
class SeededNodes {
 public:
  SeededNodes(int nodes, const SeededOptions& options)
      : options(options),
        scheduler(options.seed, {options.stuck_after, options.longest, options.real_silence}),
        all_(static_cast<std::size_t>(nodes)) {
    for (One& one : all_) one.slowness = scheduler.random().below(4) == 0 ? 10 : 1;
  }

  struct One {
    std::atomic<bool> alive = true;
    std::atomic<std::uint64_t> bytes = 0, messages = 0;  // sent
    bool ended = false;
    std::vector<std::exception_ptr> errors;  // of its helpers, then its own
    std::vector<std::size_t> helpers;        // tasks
    Letters letters;
    double slowness = 1;
  };
  One& operator[](NodeId node) {
    if (node.value < 0 || node.value >= size())
      throw std::out_of_range("there is no node " + std::to_string(node.value));
    return all_[static_cast<std::size_t>(node.value)];
  }
  int size() const { return static_cast<int>(all_.size()); }

  // At every call of a node or its helpers, before and after it lets others go.
  void check(NodeId node) {
    One& one = (*this)[node];
    if (one.ended || !scheduler.given_up().empty()) throw NodeEnded();
    if (!one.errors.empty()) std::rethrow_exception(one.errors.front());
  }

  // Waits until `due`, or until the node has ended or failed.
  void wait(NodeId node, const std::function<Time()>& due, const std::function<std::string()>& what) {
    check(node);
    const One& one = (*this)[node];
    scheduler.wait({[&] { return one.ended || !one.errors.empty() ? Time(0) : due(); }, what});
    check(node);
  }

  void spawn(NodeId node, std::function<void()> helper) {
    One& one = (*this)[node];
    const auto number = one.helpers.size() + 1;
    one.helpers.push_back(scheduler.start(fmt::format("helper {} of node {}", number, node.value),
                                          [this, &one, helper = std::move(helper)] {
                                            try {
                                              helper();
                                            } catch (const NodeEnded&) {
                                              // As it should be.
                                            } catch (...) {
                                              one.errors.push_back(std::current_exception());
                                              one.alive = false;
                                            }
                                          }));
  }

  void run_one(NodeId node, const std::function<void(NodeId)>& body) {
    One& one = (*this)[node];
    std::exception_ptr own;
    try {
      check(node);
      body(node);
    } catch (const NodeEnded&) {
      // The run was given up.
    } catch (...) {
      own = std::current_exception();
    }
    one.ended = true;
    one.alive = false;
    for (const std::size_t helper : one.helpers)
      while (!scheduler.ended(helper))
        scheduler.wait({[&] { return scheduler.ended(helper) ? Time(0) : kForever; },
                        [] { return std::string("its helpers to end"); }});
    one.errors.push_back(own);
  }

  void run(const std::function<void(NodeId)>& body) {
    const OnOneCore here;
    try {
      for (int i = 0; i < size(); ++i)
        scheduler.start(fmt::format("node {}", i), [this, i, &body] { run_one(NodeId{i}, body); });
    } catch (const std::system_error& error) {
      scheduler.give_up(std::string("a node cannot be started: ") + error.what());
    }
    scheduler.run();
    std::vector<std::exception_ptr> errors;
    for (const One& one : all_) errors.insert(errors.end(), one.errors.begin(), one.errors.end());
    if (scheduler.given_up().empty()) return rethrow_cause(errors);
    std::string after;
    try {
      rethrow_cause(errors);
    } catch (const std::exception& error) {
      after = std::string("; this came after: ") + error.what();
    }
    throw RunError(fmt::format("seed {}: {}{}", options.seed, scheduler.given_up(), after));
  }

  const SeededOptions options;
  Scheduler scheduler;  // before what its tasks use goes, they have ended: `run` waits for them

 private:
  std::vector<One> all_;
};

namespace {

class SeededEndpoint : public Endpoint {
 public:
  SeededEndpoint(std::shared_ptr<SeededNodes> nodes, NodeId id)
      : nodes_(std::move(nodes)), id_(id), mine_((*nodes_)[id]) {}
  ~SeededEndpoint() override { mine_.alive = false; }

  NodeId id() const override { return id_; }
  int size() const override { return nodes_->size(); }

  void send(NodeId to, Tag tag, Message message) override {
    nodes_->check(id_);
    SeededNodes::One& peer = (*nodes_)[to];
    if (peer.alive) {
      mine_.bytes += message.size();
      mine_.messages += 1;
      RandomStream& random = scheduler().random();
      const Time delay = random.below(2) == 0 ? Time(0) : random.uniform() * nodes_->options.longest_delay;
      peer.letters.put(id_, tag, std::move(message), now() + delay);
    }
    scheduler().pass();
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (from) (*nodes_)[*from];  // refuses ids out of range
    const auto lost = [this](NodeId peer) { return peer != id_ && !alive(peer); };
    nodes_->wait(
        id_, [&] { return std::min(deadline, mine_.letters.due(from, tag, lost, size())); },
        [&] {
          return fmt::format(
              "{} from {}, {}", name_of(tag), from ? fmt::format("node {}", from->value) : "anyone",
              deadline >= kForever / 2 ? "for ever" : fmt::format("until {:.6f} s", deadline.count()));
        });
    if (auto there = mine_.letters.take(from, tag, lost, size(), now(), scheduler().random()))
      return std::move(*there);
    return {Received::Outcome::timed_out, from.value_or(id_), {}};
  }

  Time now() const override { return nodes_->scheduler.now(); }
  bool alive(NodeId peer) const override { return (*nodes_)[peer].alive; }
  Traffic sent() const override { return {mine_.bytes, mine_.messages}; }

  void spawn(std::function<void()> helper) override {
    nodes_->check(id_);
    nodes_->spawn(id_, std::move(helper));
    scheduler().pass();
  }

  // The work is done at once, and then takes its time: others go meanwhile.
  Time compute(const Work& /*what*/, const std::function<void()>& work) override {
    nodes_->check(id_);
    work();
    const Time took = (0.5 + scheduler().random().uniform()) * mine_.slowness * nodes_->options.pass;
    const Time until = now() + took;
    nodes_->wait(
        id_, [&] { return until; }, [] { return std::string("its own computing"); });
    return took;
  }

 private:
  Scheduler& scheduler() { return nodes_->scheduler; }

  const std::shared_ptr<SeededNodes> nodes_;
  const NodeId id_;
  SeededNodes::One& mine_;
};

}  // namespace

SeededCluster::SeededCluster(int nodes, const SeededOptions& options)
    : nodes_(std::make_shared<SeededNodes>(nodes, options)) {}

std::vector<NodeId> SeededCluster::here() const {
  std::vector<NodeId> all;
  for (int i = 0; i < nodes_->size(); ++i) all.push_back(NodeId{i});
  return all;
}

std::unique_ptr<Endpoint> SeededCluster::endpoint(NodeId node) {
  return std::make_unique<SeededEndpoint>(nodes_, node);
}

void SeededCluster::run(const std::function<void(NodeId)>& body) { nodes_->run(body); }

}  // namespace veche
