#include "veche/model/torch/library/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace veche::torch_model {

void use_threads(int count) {
  // OpenMP counts per thread, so that once per process would not do.
  static thread_local int used = 0;
  if (used == count) return;
  // A thread's first question makes libtorch set what any thread has set last: it must not come later.
  static_cast<void>(at::get_num_threads());
  at::set_num_threads(count);
  // The BLAS is whichever the system chose; OpenBLAS has threads of its own that OpenMP does not govern, and
  // would keep as many beside ours.
  using SetThreads = void(int);
  if (used == 0)
    if (auto* set = reinterpret_cast<SetThreads*>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
  used = count;
}

}  // namespace veche::torch_model
