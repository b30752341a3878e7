#pragma once

#include <memory>
#include <utility>

#include "veche/strategy.h"

namespace veche {

// A node's strategy with its optional interfaces, which are looked up here, once, and nowhere else.
// A method of an interface that the strategy does not have does nothing.
class AttachedStrategy {
 public:
  explicit AttachedStrategy(std::unique_ptr<Strategy> strategy)
      : strategy_(std::move(strategy)),
        before_backward_(as<BeforeBackward>()),
        in_place_(as<InPlaceStep>()),
        async_(as<AsyncStrategy>()),
        measured_(as<MeasuredStrategy>()),
        starts_alone_(as<StartsAlone>()),
        async_server_(as<AsyncServer>()),
        serves_part_(as<ServesPart>()),
        divided_(as<DividedState>()),
        older_(as<ReadsOlderState>()) {}

  void start() const { strategy_->start(); }
  Gradient after_backward(std::uint64_t step) const { return strategy_->after_backward(step); }
  void after_step(std::uint64_t step) const { strategy_->after_step(step); }
  void finish() const { strategy_->finish(); }
  SavedState state() const { return strategy_->state(); }

  // What goes from one view to the next; of a strategy without the interface all that is common.
  DividedState::Parts divided_state() const {
    return divided_ != nullptr ? divided_->divided_state() : DividedState::Parts{state().vectors, {}};
  }
  bool divides_state() const { return divided_ != nullptr; }

  void before_backward(std::uint64_t step) const {
    if (before_backward_ != nullptr) before_backward_->before_backward(step);
  }
  std::span<float> step_target(std::uint64_t step) const {
    return in_place_ != nullptr ? in_place_->step_target(step) : std::span<float>();
  }
  void leave() const {
    if (async_ != nullptr) async_->leave();
  }
  void inspect(const std::function<void()>& look) const {
    async_ != nullptr ? async_->inspect(look) : look();
  }
  Staleness staleness() const { return measured_ != nullptr ? measured_->staleness() : Staleness{}; }
  Coding coding() const { return measured_ != nullptr ? measured_->coding() : Coding{}; }
  void start_alone() const {
    if (starts_alone_ != nullptr) starts_alone_->start_alone();
  }

  // Null: the strategy does not have it.
  AsyncServer* async_server() const { return async_server_; }
  ServesPart* serves_part() const { return serves_part_; }
  ReadsOlderState* reads_older_state() const { return older_; }

 private:
  template <class Interface>
  Interface* as() const {
    return dynamic_cast<Interface*>(strategy_.get());
  }

  std::unique_ptr<Strategy> strategy_;
  BeforeBackward* before_backward_;
  InPlaceStep* in_place_;
  AsyncStrategy* async_;
  MeasuredStrategy* measured_;
  StartsAlone* starts_alone_;
  AsyncServer* async_server_;
  ServesPart* serves_part_;
  DividedState* divided_;
  ReadsOlderState* older_;
};

}  // namespace veche
