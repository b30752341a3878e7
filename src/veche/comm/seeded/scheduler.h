#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "veche/endpoint.h"
#include "veche/random.h"

namespace veche {

// Runs tasks, of which one goes at a time, in an order that a seed decides, and keeps their virtual time.
// Each is a thread that goes only while it has the baton. Whoever has it may call everything here, and
// whatever the tasks share needs no other lock; nobody else may call anything but `now`.
class Scheduler {
 public:
  struct Limits {
    Time jump;                              // nobody can go on for so long: a wait that cannot end
    Time length;                            // of a run
    std::chrono::duration<double> silence;  // real time without a call: the baton is held for ever
  };
  Scheduler(std::uint64_t seed, Limits limits);

  // Begins when it is chosen. `name` is who it is in a sentence. Returns its number.
  std::size_t start(std::string name, std::function<void()> work);
  bool ended(std::size_t task) const { return tasks_[task]->ended; }

  // Gives out the baton until all tasks have ended; called by the thread that has started the first of them.
  void run();
  // From then on waits return at once, and those who wait shall end. The first reason counts.
  void give_up(std::string why);
  const std::string& given_up() const { return given_up_; }  // empty: it was not

  Time now() const { return Time(now_.load()); }
  RandomStream& random() { return random_; }

  struct Wait {
    std::function<Time()> due;          // the earliest it can go on, as things are now
    std::function<std::string()> what;  // it waits for
  };
  // A little time passes. Returns when the time has come and the task was chosen again.
  void wait(const Wait& wait);
  // Another task may go first.
  void pass();

 private:
  // Where a thread waits for the baton.
  class Turn {
   public:
    void give();
    void await();
    bool await_for(std::chrono::duration<double> limit);

   private:
    std::mutex mutex_;
    std::condition_variable given_;
    bool here_ = false;  // guarded by mutex_
  };
  struct Task {
    std::string name;
    double weight = 1;
    Turn turn;
    const Wait* wait = nullptr;  // null: it could go on at once
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
  std::vector<std::unique_ptr<Task>> tasks_;  // last: their threads use all of the above
};

}  // namespace veche
