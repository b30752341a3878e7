// For a file of loops over long vectors, which Highway compiles once for each instruction set. Such a file
// defines HWY_TARGET_INCLUDE as its own path, includes this, and has its loops between HWY_BEFORE_NAMESPACE()
// and HWY_AFTER_NAMESPACE() in a namespace HWY_NAMESPACE. What is there once stands behind `#if HWY_ONCE` and
// chooses among them (HWY_EXPORT, HWY_DYNAMIC_DISPATCH), as base/machine/instruction_set.h says. Loops are
// plain ones for the compiler to vectorise, or written with Highway's vectors. No include guard: each time it
// counts anew.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3  // who has no SSE 4 has the plain one
#endif
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>
