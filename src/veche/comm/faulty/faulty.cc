#include "veche/comm/faulty/faulty.h"

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
      if (held_ && held_->to == to && held_->tag == tag) release(leaving);
      if (!held_ && random_.uniform() < plan_.overtake_probability) {
        held_.emplace(Held{to, tag, std::move(message)});
      } else {
        leaving.push_back({to, tag, std::move(message)});
        if (random_.uniform() < 0.5) release(leaving);
      }
    }
    send_all(leaving);
  }

  void flush() override {
    std::vector<Held> leaving;
    {
      const MutexLock lock(mutex_);
      release(leaving);
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
  void release(std::vector<Held>& leaving) VECHE_REQUIRES(mutex_) {
    if (held_) leaving.push_back(std::move(*held_));
    held_.reset();
  }
  void send_all(std::vector<Held>& leaving) {
    for (Held& held : leaving) inner_->send(held.to, held.tag, std::move(held.message));
  }

  const std::unique_ptr<Endpoint> inner_;
  const FaultPlan plan_;
  Mutex mutex_;
  RandomStream random_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t sends_ VECHE_GUARDED_BY(mutex_) = 0;
  std::optional<Held> held_ VECHE_GUARDED_BY(mutex_);  // overtaken by what is sent next
};

}  // namespace

std::unique_ptr<Endpoint> make_faulty(std::unique_ptr<Endpoint> inner, FaultPlan plan) {
  return std::make_unique<FaultyEndpoint>(std::move(inner), plan);
}

}  // namespace veche
