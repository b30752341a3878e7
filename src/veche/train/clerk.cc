#include "veche/train/clerk.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "veche/base/errors.h"
#include "veche/train/late_evaluation.h"
#include "veche/train/loop.h"

namespace veche {
namespace {

constexpr Time kNap{0.02};  // between two looks at what is due when nobody tells anything

std::uint64_t after(std::uint64_t step, std::uint64_t every) {
  return every == 0 ? ~std::uint64_t{0} : (step / every + 1) * every;
}

}  // namespace

// What lies on the clerk's desk; belongs to its thread.
struct Clerk::Desk {
  explicit Desk(Parts parts)
      : p(std::move(parts)),
        told(static_cast<std::size_t>(p.endpoint.size())),
        heard(told.size()),
        glances(told.size()) {}

  void work(const std::atomic<bool>& abandoned) {
    while (!abandoned && !(stopped && nothing_pending())) {
      hear(evaluation ? p.endpoint.now() : p.endpoint.now() + kNap);
      if (std::ranges::find(heard, false) != heard.end()) {
        if (!stopped) look_after_nodes();
        continue;
      }
      if (!begun) begin();
      collect();
      if (evaluation && evaluation->advance()) finish_evaluation();
      if (stopped) continue;
      look_after_nodes();
      if (!stopped) decide();
    }
  }

  void hear(Time deadline) {
    for (;;) {
      const Received received = p.endpoint.receive({}, kToldTag, deadline);
      if (received.outcome != Received::Outcome::message) return;
      const auto node = static_cast<std::size_t>(received.from.value);
      const Told& news = received.message.as<Told>().front();
      told[node] = news;
      heard[node] = true;
      const Score before = glances[node].train;
      glances[node] = news.glance;
      glances[node].train += before;
      deadline = p.endpoint.now();
    }
  }

  void begin() {
    begun = true;
    next_evaluation = after(mean_step(), p.plan.evaluate_every);
    next_save = after(mean_step(), p.plan.checkpoint_every);
    last_glance = p.endpoint.now();
    for (Glance& glance : glances) glance.train = {};
  }

  std::size_t idle() const { return told.size() - static_cast<std::size_t>(p.trainers); }
  std::uint64_t total_steps() const {
    std::uint64_t total = 0;
    for (const Told& node : told) total += node.steps;
    return total;
  }
  std::uint64_t mean_step() const { return total_steps() / static_cast<std::uint64_t>(p.trainers); }
  bool work_done() const {
    if (p.plan.shared_steps) return total_steps() >= p.plan.steps * static_cast<std::uint64_t>(p.trainers);
    return std::all_of(told.begin() + static_cast<std::ptrdiff_t>(idle()), told.end(),
                       [&](const Told& node) { return node.steps >= p.plan.steps; });
  }
  bool nothing_pending() const { return !evaluation && snapshots_missing == 0 && saves_missing == 0; }

  void decide() {
    if (p.endpoint.now() - last_glance >= Time(kSecondsBetweenGlances)) glance();
    const bool interrupted =
        p.interrupted || std::ranges::any_of(told, [](const Told& node) { return node.glance.interrupted; });
    if (work_done()) return stop("steps");
    if (interrupted) {
      if (p.checkpointer == nullptr || saved_for_good) return stop("interrupted");
      if (saves_missing == 0) {
        save();
        last_save = true;
      }
      return;
    }
    if (mean_step() >= next_evaluation && !evaluation && snapshots_missing == 0) {
      next_evaluation = after(mean_step(), p.plan.evaluate_every);
      snapshots.assign(told.size(), {});
      snapshots_missing = told.size();
      snapshot_step = mean_step();
      order({.kind = Order::Kind::snapshot, .step = snapshot_step});
    }
    if (p.checkpointer != nullptr && mean_step() >= next_save && saves_missing == 0) save();
  }

  void save() {
    next_save = after(mean_step(), p.plan.checkpoint_every);
    // Numbers only grow, also where a resumed run begins below the checkpoint it was read from.
    save_number = std::max({mean_step(), save_number + 1, p.first_step + 1});
    saves_missing = told.size();
    order({.kind = Order::Kind::save, .step = save_number});
  }

  void glance() {
    const Time now = p.endpoint.now();
    const std::span<const Glance> trainers = std::span(glances).subspan(idle());
    if (p.observer != nullptr)
      p.observer->on_progress(summed(trainers, mean_step(), (now - last_glance).count()));
    for (Glance& glance : glances) glance.train = {};
    last_glance = now;
    order({.kind = Order::Kind::progress, .step = mean_step()});
  }

  void collect() {
    while (snapshots_missing > 0) {
      Received received = p.endpoint.receive({}, kSnapshotTag, p.endpoint.now());
      if (received.outcome != Received::Outcome::message) break;
      snapshots[static_cast<std::size_t>(received.from.value)] = std::move(received.message);
      if (--snapshots_missing == 0) begin_evaluation();
    }
    while (saves_missing > 0) {
      const Received received = p.endpoint.receive({}, kSavedTag, p.endpoint.now());
      if (received.outcome != Received::Outcome::message) break;
      if (--saves_missing > 0) continue;
      p.checkpointer->commit(save_number);
      saved_for_good = last_save;
    }
  }

  void begin_evaluation() {
    if (!learner && p.test != nullptr) learner = p.spare();
    evaluation.emplace(std::move(snapshots), snapshot_step, p.parameters, idle(), learner.get(), p.test,
                       p.slots, p.plan);
    snapshots = {};
  }

  void finish_evaluation() {
    Evaluation result = evaluation->result();
    evaluation.reset();
    result.rate = p.rate(result.step);
    if (p.observer != nullptr) p.observer->on_evaluation(result);
    if (!stopped && p.plan.target_accuracy && p.test != nullptr &&
        result.average_model.accuracy() >= *p.plan.target_accuracy)
      stop("target_accuracy");
  }

  void look_after_nodes() {
    for (int node = 0; node < p.endpoint.size(); ++node)
      if (!p.endpoint.alive(NodeId{node})) {
        stop("lost");
        throw PeerLost(NodeId{node}, "is gone in the middle of the run");
      }
  }

  void stop(const char* reason) {
    Order last{.kind = Order::Kind::stop, .step = mean_step()};
    std::strncpy(last.reason.data(), reason, last.reason.size() - 1);
    order(last);
    stopped = true;
  }

  void order(const Order& what) {
    const Message message = pool.copy_of_item(what);
    for (int node = 0; node < p.endpoint.size(); ++node) p.endpoint.send(NodeId{node}, kOrderTag, message);
  }

  Parts p;
  MessagePool pool;
  std::vector<Told> told;  // the newest of each node
  std::vector<bool> heard;
  std::vector<Glance> glances;  // since the last one shown
  bool begun = false;
  bool stopped = false;
  bool last_save = false;  // the one under way ends the run
  bool saved_for_good = false;
  Time last_glance{0};
  std::uint64_t next_evaluation = 0;
  std::uint64_t next_save = 0;
  std::uint64_t save_number = 0;
  std::vector<Message> snapshots;
  std::size_t snapshots_missing = 0;
  std::uint64_t snapshot_step = 0;
  std::size_t saves_missing = 0;
  std::unique_ptr<Learner> learner;
  std::optional<LateEvaluation> evaluation;
};

Clerk::Clerk(Parts parts)
    : thread_([this, parts = std::move(parts)]() mutable {
        try {
          Desk(std::move(parts)).work(abandoned_);
        } catch (...) {
          error_ = std::current_exception();
        }
      }) {}

Clerk::~Clerk() { abandoned_ = true; }

void Clerk::join() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace veche
