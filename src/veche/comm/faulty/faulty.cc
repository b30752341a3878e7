#include "veche/comm/faulty/faulty.h"

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/sleep.h"
#include "veche/random.h"

namespace veche {
namespace {

class FaultyEndpoint : public Endpoint {
 public:
  FaultyEndpoint(std::unique_ptr<Endpoint> inner, FaultPlan plan)
      : Endpoint(*inner),
        inner_(std::move(inner)),
        plan_(plan),
        random_(plan.seed, "faults", static_cast<std::uint64_t>(inner_->id().value)) {}

  void send(NodeId to, Tag tag, Message message) override {
    std::vector<Held> leaving;
    {
      const MutexLock lock(mutex_);
      if (plan_.dies_after && sends_ >= *plan_.dies_after)
        throw NodeKilled("node " + std::to_string(id().value) + " was killed by the fault plan");
      ++sends_;
      if (random_.uniform() < plan_.drop_probability) return;
      // Messages of one conversation stay in order.
      release(leaving, std::ranges::find_if(held_, [&](const auto& item) {
                return item.second.to == to && item.second.tag == tag;
              }));
      const auto mine = held_.find(std::this_thread::get_id());
      if (mine == held_.end() && random_.uniform() < plan_.overtake_probability) {
        held_.emplace(std::this_thread::get_id(), Held{to, tag, std::move(message)});
      } else {
        leaving.push_back({to, tag, std::move(message)});
        if (random_.uniform() < 0.5) release(leaving, mine);
      }
    }
    send_all(leaving);
  }

  void flush() override {
    std::vector<Held> leaving;
    {
      const MutexLock lock(mutex_);
      release(leaving, held_.find(std::this_thread::get_id()));
    }
    send_all(leaving);
    inner_->flush();
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    flush();  // the awaited answer may depend on it
    Received received = inner_->receive(from, tag, deadline);
    Time delay{0};
    {
      const MutexLock lock(mutex_);
      if (random_.uniform() < plan_.delay_probability) delay = random_.uniform() * plan_.longest_delay;
    }
    sleep_for(*inner_, delay);
    return received;
  }

  Time now() const override { return inner_->now(); }
  bool alive(NodeId peer) const override { return inner_->alive(peer); }
  // A helper's last message must not be held until the node's next call, which may wait for the
  // answer.
  void spawn(std::function<void()> helper) override {
    inner_->spawn([this, helper = std::move(helper)] {
      helper();
      flush();
    });
  }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return inner_->compute(what, work);
  }

 private:
  struct Held {
    NodeId to;
    Tag tag;
    Message message;
  };
  using ByThread = std::map<std::thread::id, Held>;
  void release(std::vector<Held>& leaving, ByThread::iterator held) VECHE_REQUIRES(mutex_) {
    if (held == held_.end()) return;
    leaving.push_back(std::move(held->second));
    held_.erase(held);
  }
  void send_all(std::vector<Held>& leaving) {
    for (Held& held : leaving) inner_->send(held.to, held.tag, std::move(held.message));
  }

  const std::unique_ptr<Endpoint> inner_;
  const FaultPlan plan_;
  Mutex mutex_;
  RandomStream random_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t sends_ VECHE_GUARDED_BY(mutex_) = 0;
  // Overtaken by what its thread sends next. A thread sends its own: if a helper sent the node's,
  // the node might end first, and the message be lost with the helper.
  ByThread held_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Endpoint> make_faulty(std::unique_ptr<Endpoint> inner, FaultPlan plan) {
  return std::make_unique<FaultyEndpoint>(std::move(inner), plan);
}

}  // namespace veche
