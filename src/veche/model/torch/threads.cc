#include "veche/model/torch/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace veche::torch_model {

void use_one_thread() {
  // OpenMP counts per thread, so that once per process would not do.
  static thread_local const bool done = [] {
    at::set_num_threads(1);
    // The BLAS is whichever the system chose; OpenBLAS has threads of its own that OpenMP does not govern.
    using SetThreads = void(int);
    if (auto* set = reinterpret_cast<SetThreads*>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace veche::torch_model
