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

// Data derived from a file, such as the uncompressed bytes of a gzip file, created once for all
// `processes` processes of this host that request it. The first process makes it; the others wait
// and then map the same memory. With one process, or without shared memory, each process makes its
// own. Once all processes have arrived, nothing stays behind however they end. Before that, a
// killed process may leave a file in /dev/shm, which the next one uses and removes. Rethrows
// exceptions from `make`.
HostMemory share_on_host(const std::filesystem::path& file, std::size_t size, int processes,
                         const std::function<void(std::span<std::uint8_t>)>& make);

}  // namespace veche
