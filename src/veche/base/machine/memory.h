#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "veche/base/module_api.h"

namespace veche {

// Bytes this process can still allocate without swapping: the least of the machine's available
// memory, its container's limit and its address space. The maximum value if the system does not
// tell.
VECHE_MODULE_API std::uint64_t available_memory();

// Throws RequestError if fewer bytes are available: "WHAT needs 4.0 TB of memory, and 7.9 GB are
// available: HINT". Call before a large allocation: a system that overcommits memory kills the
// program later without a message.
VECHE_MODULE_API void check_memory(double bytes, const std::string& what, const std::string& hint);

// Bytes left under the limit of the address space (RLIMIT_AS, `ulimit -v`); the maximum value
// without a limit.
std::uint64_t address_space_left();
// Throws RequestError if less is left: "WHAT needs 1.1 GB of address space, and the limit of this
// process (ulimit -v) leaves 0.4 GB of 0.8 GB: ...". Call before loading a library: libraries
// crash, hang or abort when they run out of address space.
void check_address_space(double bytes, const std::string& what);

// Returns the memory of these bytes to the system, except partial pages at the ends. The released
// bytes read as zero and cost nothing until written again. Only for private memory, such as from
// `new`.
VECHE_MODULE_API void release_pages(std::span<std::byte> bytes);
// Populates the pages again at once, faster than one page fault at a time.
VECHE_MODULE_API void fetch_pages(std::span<std::byte> bytes);

}  // namespace veche
