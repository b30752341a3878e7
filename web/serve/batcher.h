#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/runtime/inference/trained_model.h"

namespace veche::web {

// Too many requests are waiting.
class TooBusy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Batches concurrent requests to a model. Requests that arrive while a batch is computed form the
// next one. A single request is answered at once. After a batch of several, the next batch waits
// for as many requests, at most a fraction of the last batch's time: clients often ask again, and
// otherwise batches would split into halves that alternate. One thread computes.
class Batcher {
 public:
  struct Limits {
    std::size_t batch = 32;
    std::size_t waiting = 256;  // more requests are refused
  };
  // The batcher's thread owns the model while this object lives.
  Batcher(TrainedModel& model, Limits limits);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // The class probabilities of one sample. Any thread; blocks. Throws TooBusy, or the model's
  // exception.
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
    ConditionVariable ready = {};
  };
  void work();
  void gather() VECHE_REQUIRES(mutex_);
  void answer(const std::vector<Asked*>& batch);

  TrainedModel& model_;
  const Limits limits_;
  std::vector<float> images_, probabilities_;  // used by the thread

  mutable Mutex mutex_;
  ConditionVariable come_;  // enough requests, or the end
  std::deque<Asked*> waiting_ VECHE_GUARDED_BY(mutex_);
  std::size_t wanted_ VECHE_GUARDED_BY(mutex_) = 1;  // requests needed to wake the thread
  std::size_t lately_ VECHE_GUARDED_BY(mutex_) = 0;  // size of the last batch, with the requests left waiting
  std::chrono::steady_clock::duration took_ VECHE_GUARDED_BY(mutex_) = {};  // duration of the last batch
  Counts counts_ VECHE_GUARDED_BY(mutex_);
  bool ending_ VECHE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last: it uses everything above
};

}  // namespace veche::web
