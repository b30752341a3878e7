#include "veche/runtime/run/collective.h"

namespace veche {

void run_collectively(Job* job, const std::function<void()>& work) {
  if (job == nullptr) return work();
  try {
    work();
  } catch (const std::exception& error) {
    job->fail(error);
  }
  job->exchange("");
}

void run_on_rank_zero(Job* job, const std::function<void()>& work) {
  run_collectively(job, [&] {
    if (is_rank_zero(job)) work();
  });
}

std::string broadcast(Job* job, const std::string& text) {
  return job == nullptr ? text : job->exchange(text).front();
}

}  // namespace veche
