#pragma once

namespace veche::torch_model {

// Makes libtorch take its memory from a pool of ours, for the life of the process; calling again changes
// nothing.
void install_allocator();

}  // namespace veche::torch_model
