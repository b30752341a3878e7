#pragma once

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace veche {

// While this object lives, denormal numbers (below 1.2e-38) are flushed to zero in this thread and
// in threads it starts. Denormals are about a hundred times slower and do not go away: the moments
// of weights with zero gradient shrink until rounding holds them there. Adam on a network with dead
// units was three times slower with them.
class FlushDenormals {
 public:
#ifdef __SSE__
  FlushDenormals() { _mm_setcsr(before_ | kFlushResults | kTakeAsZero); }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#ifdef __SSE__
 private:
  static constexpr unsigned kFlushResults = 0x8000, kTakeAsZero = 0x0040;
  const unsigned before_ = _mm_getcsr();
#endif
};

}  // namespace veche
