#pragma once

namespace veche::torch_model {

// How many threads libtorch divides an operation among that the calling thread asks for. Every thread that
// computes says so first; only a change does anything.
void use_threads(int count);
// Keeps libtorch in the calling thread: nodes share the machine's cores among themselves.
inline void use_one_thread() { use_threads(1); }

}  // namespace veche::torch_model
