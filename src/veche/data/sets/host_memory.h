#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

namespace veche {

struct HostMemory {
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

// What must be made of a file in memory, such as the unpacked bytes of a gzip file, once for all processes of
// this host that ask for it, so many in all: the first makes it, the others wait and then see the same
// memory. With one process, and where the system has no such memory to give, each makes its own. Nothing
// stays behind when the processes end, in whatever way, once all have come; before that a killed one may
// leave a file in /dev/shm, which the next one to come uses and removes. Passes on what `make` throws.
HostMemory once_a_host(const std::filesystem::path& file, std::size_t size, int processes,
                       const std::function<void(std::span<std::uint8_t>)>& make);

}  // namespace veche
