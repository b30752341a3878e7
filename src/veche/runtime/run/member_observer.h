#pragma once

#include <exception>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/grid.h"
#include "veche/runtime/record/run_observer.h"

namespace veche {

// Passes everything on to the caller's observer, which may be null, and reports the progress of
// this member to the other members.
class MemberObserver : public RunObserver {
 public:
  explicit MemberObserver(RunObserver* next) : next_(next) {}

  // While it exists, progress goes to the grid; `nodes`: of this process.
  class Reports {
   public:
    Reports(MemberObserver& observer, grid::Grid& grid, int nodes) : observer_(observer) {
      observer_.nodes_here_ = nodes;
      observer_.grid_ = &grid;
    }
    ~Reports() { observer_.grid_ = nullptr; }
    Reports(const Reports&) = delete;
    Reports& operator=(const Reports&) = delete;

   private:
    MemberObserver& observer_;
  };

  // A sentence from any thread of the grid, where nothing can be thrown: a failure of the observer
  // is thrown by the next call of a training thread, or by `check`.
  void say(const std::string& sentence) noexcept try { on_notice(sentence); } catch (...) {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  void check() {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  void on_start(const RunInfo& info) override {
    if (next_ != nullptr) next_->on_start(info);
  }
  void on_view(const RunInfo& info) override {
    info_ = info;
    if (next_ != nullptr) next_->on_view(info);
  }
  void on_notice(const std::string& sentence) override {
    if (next_ != nullptr) next_->on_notice(sentence);
  }
  void on_progress(const Progress& progress) override {
    check();
    const double share = static_cast<double>(nodes_here_) / info_.nodes;
    if (grid_ != nullptr)
      grid_->report(progress.step, progress.targets_per_second * share, info_.epoch(progress.step));
    if (next_ != nullptr) next_->on_progress(progress);
  }
  void on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) override {
    if (next_ != nullptr) next_->on_nodes(step, nodes);
  }
  void on_measuring() override {
    if (next_ != nullptr) next_->on_measuring();
  }
  void on_testing(double part) override {
    if (next_ != nullptr) next_->on_testing(part);
  }
  void on_evaluation(const Evaluation& evaluation) override {
    if (next_ != nullptr) next_->on_evaluation(evaluation);
  }

 private:
  RunObserver* const next_;
  grid::Grid* grid_ = nullptr;
  int nodes_here_ = 1;
  RunInfo info_;
  Mutex mutex_;
  std::exception_ptr failure_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche
