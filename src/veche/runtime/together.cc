#include "veche/runtime/together.h"

namespace veche {

void together(Job* job, const std::function<void()>& work) {
  if (job == nullptr) return work();
  try {
    work();
  } catch (const std::exception& error) {
    job->fail(error);
  }
  job->exchange("");
}

}  // namespace veche
