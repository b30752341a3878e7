#pragma once

namespace veche::torch_model {

// Keeps libtorch in the calling thread: nodes share the machine's cores among themselves. Every thread that
// computes calls it; only the first call of a thread does anything.
void use_one_thread();

}  // namespace veche::torch_model
