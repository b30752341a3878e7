#pragma once

// What the hand-written loops share: a vector type and code for several processors in one binary.

namespace veche::torch_model {

// Compiles a function once per generation of processors; the loader picks the one that fits. The picking runs
// before the sanitizers are set up, so that under them there is only the plain version. What such a function
// calls must be VECHE_INLINE, else it is compiled for the oldest processor.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECHE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECHE_MULTIVERSION
#endif
#define VECHE_INLINE inline __attribute__((always_inline))

inline constexpr int kLanes = 16;
// Sixteen numbers; the compiler splits them where registers are shorter. Kernels are written for a type V
// that is a Vector or a single number, so that any count of channels has a remainder.
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

// From and to any address.
template <class V>
VECHE_INLINE V at(const float* p) {
  V value;
  __builtin_memcpy(&value, p, sizeof(V));
  return value;
}
template <class V>
VECHE_INLINE void put(float* p, V value) {
  __builtin_memcpy(p, &value, sizeof(V));
}

}  // namespace veche::torch_model
