#pragma once

#include "veche/train/loop/observer.h"

namespace veche {

// Passes everything on to an observer that is known only after training has started. Until then it
// drops it.
class LateObserver : public Observer {
 public:
  void pass_to(Observer* next) { next_ = next; }  // may be null

  void on_progress(const Progress& progress) override {
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
  Observer* next_ = nullptr;
};

}  // namespace veche
