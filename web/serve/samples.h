#pragma once

#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/runtime/inference/trained_model.h"

namespace veche::web {

// A few samples of the run's test set to try the model with: the answer to GET /samples
// (docs/serving.md). The data are opened at the first request and closed again; what was read, or the
// reason why nothing could be, is kept.
class TestSamples {
 public:
  // The model outlives it. Only facts are asked of it that do not change while it predicts.
  explicit TestSamples(const TrainedModel& model) : model_(model) {}

  // JSON. Any thread; the first call takes as long as opening the data takes.
  std::string json();

 private:
  const TrainedModel& model_;
  Mutex mutex_;
  std::string made_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche::web
