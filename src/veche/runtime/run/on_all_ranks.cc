#include "veche/runtime/run/on_all_ranks.h"

namespace veche {

void on_all_ranks(Job* job, const std::function<void()>& work) {
  if (job == nullptr) return work();
  try {
    work();
  } catch (const std::exception& error) {
    job->fail(error);
  }
  job->exchange("");
}

}  // namespace veche
