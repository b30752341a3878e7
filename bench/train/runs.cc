#include "bench/train/runs.h"

#include "veche/config.h"

namespace veche {

RunResult short_run(const std::vector<std::string>& assignments, RunObserver* observer) {
  Config config = Config::from_text(R"(
    [data]
    name = "synthetic"
    samples = 4000
    test_samples = 36
    [optimizer]
    name = "sgd"
    lr = 0.01
    momentum = 0.9
  )");
  for (const std::string& assignment : assignments) config.set(assignment);
  TrainingRequest request;
  request.settings = config.resolve();
  request.keep = false;
  request.observer = observer;
  return run_training(request);
}

}  // namespace veche
