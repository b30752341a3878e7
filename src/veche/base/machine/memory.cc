#include "veche/base/machine/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? value : kUnknown;  // "max": no limit
}

std::uint64_t of_the_machine() {
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    std::uint64_t kilobytes = 0;
    if (!(in >> kilobytes)) break;
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(in, unit);
  }
  return kUnknown;
}

std::uint64_t of_the_container() {
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  // Cached file pages count as used, but the kernel reclaims them on demand.
  std::uint64_t files = 0;
  std::ifstream in("/sys/fs/cgroup/memory.stat");
  std::string key;
  for (std::uint64_t value = 0; in >> key >> value;)
    if (key == "file") files = value;
  const std::uint64_t held = used - std::min(used, files);
  return most - std::min(most, held);
}

std::uint64_t address_space_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : kUnknown;
}

std::string text(double bytes) {
  return bytes < 1e12 ? fmt::format("{:.1f} GB", bytes / 1e9) : fmt::format("{:.4g} TB", bytes / 1e12);
}

// Advises the kernel about the whole pages in these bytes. If it ignores the advice, only memory or
// time is lost.
void advise(std::span<std::byte> bytes, int advice) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (from + page - 1) / page * page, last = (from + bytes.size()) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, advice);
}

}  // namespace

std::uint64_t available_memory() {
  return std::min({of_the_machine(), of_the_container(), address_space_left()});
}

std::uint64_t address_space_left() {
  const std::uint64_t limit = address_space_limit();
  const std::uint64_t pages =
      limit == kUnknown ? kUnknown : number_in("/proc/self/statm");  // first number of the line
  if (pages == kUnknown) return limit;
  return limit - std::min(limit, pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

void check_address_space(double bytes, const std::string& what) {
  const auto left = static_cast<double>(address_space_left());
  if (bytes > left)
    throw RequestError(
        fmt::format("{} needs {} of address space, and the limit of this process (ulimit -v) "
                    "leaves {} of {}: raise it, as `ulimit -v unlimited` does",
                    what, text(bytes), text(left), text(static_cast<double>(address_space_limit()))));
}

void check_memory(double bytes, const std::string& what, const std::string& hint) {
  if (bytes < 1e8) return;  // small requests are not worth the time of asking
  const auto available = static_cast<double>(available_memory());
  if (bytes > available)
    throw RequestError(fmt::format("{} needs {} of memory, and {} are available: {}", what, text(bytes),
                                   text(available), hint));
}

void release_pages(std::span<std::byte> bytes) { advise(bytes, MADV_DONTNEED); }

void fetch_pages(std::span<std::byte> bytes) {
#ifdef MADV_POPULATE_WRITE
  advise(bytes, MADV_POPULATE_WRITE);
#else
  static_cast<void>(bytes);
#endif
}

}  // namespace veche
