// For a file of vector loops that Highway compiles once per instruction set. The file defines
// HWY_TARGET_INCLUDE as its own path, includes this header, and puts its loops between
// HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE() in namespace HWY_NAMESPACE. Code compiled once
// follows `#if HWY_ONCE` and dispatches with HWY_EXPORT and HWY_DYNAMIC_DISPATCH (see
// base/machine/instruction_set.h). The loops are plain, for the compiler to vectorise, or use
// Highway's vectors. No include guard: every inclusion takes effect.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3  // processors without SSE 4 use the plain version
#endif
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>
