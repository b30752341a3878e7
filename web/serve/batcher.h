#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "veche/runtime/inference/trained_model.h"

namespace veche::web {

// More wait than can be answered soon.
class TooBusy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Lets a model answer many who ask one by one, in batches: whoever comes while a batch is computed is in the
// next one. Who asks alone is answered at once. Where several were answered together, the next batch waits
// for as many as there were, at most a part of the time that the last one took: they often ask again, and
// batches would else fall apart into halves that take turns. One thread computes.
class Batcher {
 public:
  struct Limits {
    std::size_t batch = 32;
    std::size_t waiting = 256;  // more are turned away
  };
  // The model belongs to the batcher's thread while this lives.
  Batcher(TrainedModel& model, Limits limits);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // The probabilities of one sample. Any thread; waits. Throws TooBusy, and what the model has thrown.
  std::vector<float> predict(std::span<const float> sample);

  struct Counts {
    std::uint64_t images = 0;
    std::uint64_t batches = 0;
  };
  Counts counts() const;

 private:
  struct Asked {
    std::span<const float> sample;
    std::vector<float> answer = {};
    std::exception_ptr failure = {};
    bool done = false;
    std::condition_variable ready = {};
  };
  void work();
  void gather(std::unique_lock<std::mutex>& lock);
  void answer(const std::vector<Asked*>& batch);

  TrainedModel& model_;
  const Limits limits_;
  std::vector<float> images_, probabilities_;  // of the thread

  mutable std::mutex mutex_;
  std::condition_variable come_;                // as many as are wanted, or the end
  std::deque<Asked*> waiting_;                  // guarded by the mutex, as all below
  std::size_t wanted_ = 1;                      // who must wait before the thread is woken
  std::size_t lately_ = 0;                      // how many the last batch left behind or answered
  std::chrono::steady_clock::duration took_{};  // the last batch
  Counts counts_;
  bool ending_ = false;
  std::thread thread_;  // the last: it uses all above
};

}  // namespace veche::web
