#pragma once

#include <string>

#include "veche/base/module_api.h"

namespace veche {

// The best of "avx512", "avx2", "sse4" and "plain" that this processor has.
VECHE_MODULE_API std::string instruction_set();

}  // namespace veche
