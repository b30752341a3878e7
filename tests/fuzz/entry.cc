// What libFuzzer calls; VECHE_FUZZ_TARGET names the target that this program is for.
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  veche::fuzz::VECHE_FUZZ_TARGET({data, size});
  return 0;
}
