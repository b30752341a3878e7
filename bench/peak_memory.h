#pragma once

namespace veche {

// Resets the peak memory of this process (proc(5), clear_refs).
void forget_peak_memory();
// The peak since then, in MiB. Throws RunError where it cannot be read.
double peak_memory();

}  // namespace veche
