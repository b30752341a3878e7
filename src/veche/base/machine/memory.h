#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "veche/base/module/module_api.h"

namespace veche {

// Bytes that this process could still be given without swapping: what the machine has available, what its
// container leaves of it, or what its address space has room for. All there are where the system does not
// tell.
VECHE_MODULE_API std::uint64_t available_memory();

// Throws RequestError when so many bytes are more than is available: "WHAT needs 4.0 TB of memory, and 7.9 GB
// are available: HINT". Asked before something large is made, since a system that promises more memory than
// it has ends the program later, without a word.
VECHE_MODULE_API void check_memory(double bytes, const std::string& what, const std::string& hint);

// What the limit of the address space (RLIMIT_AS, `ulimit -v`) leaves; all there is where there is no limit.
std::uint64_t address_space_left();
// Throws RequestError when this is less: "WHAT needs 1.1 GB of address space, and the limit of this process
// (ulimit -v) leaves 0.4 GB of 0.8 GB: ...". Libraries crash, spin or abort where it ends under their hands,
// so it is asked before they are loaded.
void check_address_space(double bytes, const std::string& what);

// Gives the memory of these bytes back to the system, but for what is left of a page at the ends: until they
// are written again they are zero and cost nothing. Only for memory of the process's own, such as `new`
// gives.
VECHE_MODULE_API void release_pages(std::span<std::byte> bytes);
// Asks for it again, all at once: quicker than page by page when it is written.
VECHE_MODULE_API void fetch_pages(std::span<std::byte> bytes);

}  // namespace veche
