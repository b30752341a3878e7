// In the fuzz programs libarchive is linked, so that the fuzzer sees into the code around it; there
// is no module to load.
#include "veche/data/formats/archive/archive.h"

extern "C" void veche_read_archive(std::span<const std::uint8_t> bytes, const std::string& name,
                                   veche::Archive& result);

namespace veche {

Archive read_archive(std::span<const std::uint8_t> bytes, const std::string& name) {
  Archive archive;
  veche_read_archive(bytes, name, archive);
  return archive;
}

}  // namespace veche
