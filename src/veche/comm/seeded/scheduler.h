#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/endpoint.h"
#include "veche/random.h"

namespace veche {

// Runs tasks one at a time, in an order decided by a seed, and keeps their virtual time. Each task
// is a thread that runs only while it holds the baton. The holder may call every method, and what
// tasks share needs no other lock. Other threads may call only `now`.
class Scheduler {
 public:
  struct Limits {
    Time jump;                              // no task can go on for this long: the run is stuck
    Time length;                            // of a run
    std::chrono::duration<double> silence;  // real time without a call: the holder of the baton is blocked
  };
  Scheduler(std::uint64_t seed, Limits limits);

  // The task begins when it is chosen. `name` is for messages. Returns its number.
  std::size_t start(std::string name, std::function<void()> work);
  bool ended(std::size_t task) const { return tasks_[task]->ended; }

  // Passes the baton until all tasks have ended; called by the thread that started the first task.
  void run();
  // From now on waits return at once, and the waiting tasks must end. The first reason counts.
  void give_up(std::string why);
  const std::string& given_up() const { return given_up_; }  // empty: not given up

  Time now() const { return Time(now_.load()); }
  RandomStream& random() { return random_; }

  struct Wait {
    std::function<Time()> due;          // the earliest time it can go on, in the present state
    std::function<std::string()> what;  // what it waits for
  };
  // A little time passes. Returns when the wait is due and the task was chosen again.
  void wait(const Wait& wait);
  // Another task may run first.
  void pass();

 private:
  // Where a thread waits for the baton.
  class Turn {
   public:
    void give();
    void await();
    bool await_for(std::chrono::duration<double> limit);

   private:
    Mutex mutex_;
    ConditionVariable given_;
    bool here_ VECHE_GUARDED_BY(mutex_) = false;
  };
  struct Task {
    std::string name;
    double weight = 1;
    Turn turn;
    const Wait* wait = nullptr;  // null: it could continue at once
    bool ended = false;
    std::jthread thread;
  };

  Task& running();
  void let_time_pass();
  void hand_over();
  Task* choose();
  Time due(const Task& task) const;
  Task& by_weight(const std::vector<Task*>& ready);
  std::string who_waits() const;
  void abort_in_silence();

  const Limits limits_;
  RandomStream random_;
  std::atomic<double> now_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<Task*> running_ = nullptr;
  std::string given_up_;
  Turn all_ended_;
  std::vector<std::unique_ptr<Task>> tasks_;  // declared last: their threads use all of the above
};

}  // namespace veche
