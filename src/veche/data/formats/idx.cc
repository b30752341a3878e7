#include "veche/data/formats/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/gzip_file.h"
#include "veche/data/sets/host_memory.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedBytes = 0x08;

template <std::size_t kDimensions>
struct IdxArray {
  std::array<std::uint32_t, kDimensions> sizes;
  HostMemory data;
  MappedFiles files = {};  // mapped files that contain the bytes, unless they were unpacked
};

// Checks before allocating: a damaged header may promise anything.
template <std::size_t kDimensions>
IdxArray<kDimensions> read_array(const fs::path& path, int processes) {
  constexpr std::size_t kHeader = 4 + 4 * kDimensions;
  PackedFile file(path);
  const auto refuse = [&](const std::string& why) {
    throw RequestError(fmt::format("'{}' {}", path.string(), why));
  };

  std::array<std::uint8_t, 4> magic{};
  constexpr std::array<std::uint8_t, 4> kExpected{0, 0, kUnsignedBytes, kDimensions};
  if (file.read(magic) < magic.size()) refuse("is truncated: not even an IDX header is there");
  if (magic != kExpected) {
    refuse(fmt::format("is not an IDX file of bytes in {} dimension{}: it begins with {:02x}, not {:02x}",
                       kDimensions, kDimensions == 1 ? "" : "s", fmt::join(magic, " "),
                       fmt::join(kExpected, " ")));
  }

  IdxArray<kDimensions> result;
  for (std::uint32_t& size : result.sizes) {
    std::array<std::uint8_t, 4> digits{};
    if (file.read(digits) < digits.size()) refuse("is truncated: its IDX header ends early");
    size = std::uint32_t{digits[0]} << 24 | std::uint32_t{digits[1]} << 16 | std::uint32_t{digits[2]} << 8 |
           digits[3];
    if (size == 0) refuse("holds nothing: a size in its IDX header is 0");
  }

  const std::string promised = fmt::format("{} bytes", fmt::join(result.sizes, "x"));
  std::uint64_t total = 1;
  for (const std::uint32_t size : result.sizes) {
    if (size > file.bound() / total)
      refuse("is truncated: its header promises " + promised + " and fewer are there");
    total *= size;
  }
  const auto fewer = [&] {
    refuse("is truncated: its header promises " + promised + " and fewer are there");
  };
  const auto more = [&] { refuse("goes on after the " + promised + " its header promises"); };
  if (!file.packed()) {
    const auto mapped = std::make_shared<const MappedFile>(path);
    const auto bytes = mapped->octets().subspan(std::min(kHeader, mapped->octets().size()));
    if (bytes.size() < total) fewer();
    if (bytes.size() > total) more();
    result.data.bytes = bytes;
    result.files = {mapped};
    return result;
  }
  result.data = share_on_host(path, total, processes, [&](std::span<std::uint8_t> room) {
    if (file.read(room) < total) fewer();
    std::array<std::uint8_t, 1> beyond{};
    if (file.read(beyond) != 0) more();
  });
  return result;
}

}  // namespace

std::optional<fs::path> find_idx(const fs::path& folder, std::string_view name) {
  std::error_code error;
  for (const char* ending : {"", ".gz"}) {
    if (fs::path path = folder / (std::string(name) + ending); fs::exists(path, error)) return path;
  }
  return std::nullopt;
}

Samples read_idx(const fs::path& images, const fs::path& labels, int classes, const DamagePolicy& policy,
                 int processes) {
  const IdxArray<3> pixels = read_array<3>(images, processes);
  const IdxArray<1> answers = read_array<1>(labels, 1);
  const auto [count, height, width] = pixels.sizes;
  if (std::max(height, width) > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
    throw RequestError(
        fmt::format("'{}' holds images too large to be true: {}x{}", images.string(), height, width));
  }
  if (answers.sizes[0] != count) {
    policy.found(fmt::format("'{}' holds {} labels but '{}' holds {} images", labels.string(),
                             answers.sizes[0], images.string(), count),
                 std::max(answers.sizes[0], count) - std::min(answers.sizes[0], count));
  }
  Samples samples{.shape = {1, static_cast<int>(height), static_cast<int>(width)},
                  .classes = classes,
                  .owners = {pixels.data.owner},
                  .files = pixels.files};
  for (std::size_t i = 0; i < std::min(answers.sizes[0], count); ++i) {
    const int label = answers.data.bytes[i];
    if (label < classes)
      samples.add(pixels.data.bytes.data() + i * samples.shape.size(), label);
    else
      policy.found(fmt::format("'{}' gives sample {} the label {}, which is not in 0..{}", labels.string(), i,
                               label, classes - 1));
  }
  return samples;
}

}  // namespace veche
