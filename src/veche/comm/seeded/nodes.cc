#include "veche/comm/seeded/nodes.h"

#include <fmt/format.h>
#include <sched.h>

#include <system_error>

#include "veche/comm/check_id.h"
#include "veche/errors.h"

namespace veche {
namespace {

// While it lives, the calling thread and threads it starts stay on one core. Since one thread runs
// at a time, switching on one core is many times faster than between cores, especially on a busy
// machine.
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

SeededNodes::SeededNodes(int nodes, const SeededOptions& options)
    : options(options),
      scheduler(options.seed, {options.stuck_after, options.longest, options.real_silence}),
      all_(static_cast<std::size_t>(nodes)) {
  for (One& one : all_) one.slowness = scheduler.random().below(4) == 0 ? 10 : 1;
}

SeededNodes::One& SeededNodes::operator[](NodeId node) {
  check_id(node, size());
  return all_[static_cast<std::size_t>(node.value)];
}

void SeededNodes::check(NodeId node) {
  One& one = (*this)[node];
  if (one.ended || !scheduler.given_up().empty()) throw NodeEnded();
  if (!one.errors.empty()) std::rethrow_exception(one.errors.front());
}

void SeededNodes::wait(NodeId node, const std::function<Time()>& due,
                       const std::function<std::string()>& what) {
  check(node);
  const One& one = (*this)[node];
  scheduler.wait({[&] { return one.ended || !one.errors.empty() ? Time(0) : due(); }, what});
  check(node);
}

void SeededNodes::spawn(NodeId node, std::function<void()> helper) {
  One& one = (*this)[node];
  const std::string name = fmt::format("helper {} of node {}", one.helpers.size() + 1, node.value);
  one.helpers.push_back(scheduler.start(name, [&one, helper = std::move(helper)] {
    try {
      helper();
    } catch (const NodeEnded&) {
      // The expected end.
    } catch (...) {
      one.errors.push_back(std::current_exception());
      one.alive = false;
    }
  }));
}

void SeededNodes::run_one(NodeId node, const std::function<void(NodeId)>& body) {
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

void SeededNodes::run(const std::function<void(NodeId)>& body) {
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

}  // namespace veche
