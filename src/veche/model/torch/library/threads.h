#pragma once

namespace veche::torch_model {

// Sets the number of threads that libtorch uses for operations of the calling thread. Every
// computing thread calls it first; repeating the same value is free.
void use_threads(int count);
// Keeps libtorch on the calling thread: the nodes themselves share the machine's cores.
inline void use_one_thread() { use_threads(1); }

}  // namespace veche::torch_model
