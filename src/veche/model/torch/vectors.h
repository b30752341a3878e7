#pragma once

#include <cstdint>

#include "veche/base/multiversion.h"

// What a VECHE_MULTIVERSION function calls must be inlined into it, else it is compiled for the oldest
// processor.
#define VECHE_INLINE inline __attribute__((always_inline))

namespace veche::torch_model {

inline constexpr std::int64_t kLanes = 16;
// Sixteen numbers; the compiler splits them where registers are shorter. Kernels are written for a type V
// that is a Vector or a single number, so that any count of channels has its remainder.
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

template <class V>
inline constexpr std::int64_t kLanesOf = kLanes;
template <>
inline constexpr std::int64_t kLanesOf<float> = 1;

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
