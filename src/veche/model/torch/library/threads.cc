#include "veche/model/torch/library/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace veche::torch_model {

void use_threads(int count) {
  // OpenMP's count is per thread, so setting it once per process is not enough.
  static thread_local int used = 0;
  if (used == count) return;
  // A thread's first call makes libtorch apply the value set last by any thread; trigger that now,
  // not later.
  static_cast<void>(at::get_num_threads());
  at::set_num_threads(count);
  // The system chooses the BLAS. OpenBLAS has its own threads, which OpenMP does not control.
  using SetThreads = void(int);
  if (used == 0)
    if (auto* set = reinterpret_cast<SetThreads*>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
  used = count;
}

}  // namespace veche::torch_model
