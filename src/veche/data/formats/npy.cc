#include "veche/data/formats/npy.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

#include "veche/errors.h"

namespace veche {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw RequestError(fmt::format("'{}' {}", name, why));
}

// The header is a Python dictionary: {'descr': '|u1', 'fortran_order': False, 'shape': (60000, 28,
// 28), }
std::string_view after_key(std::string_view header, std::string_view key, const std::string& name) {
  const auto at = header.find(fmt::format("'{}'", key));
  if (at == header.npos) refuse(name, fmt::format("is a damaged .npy file: its header has no '{}'", key));
  header.remove_prefix(at + key.size() + 2);
  while (!header.empty() && (header.front() == ':' || header.front() == ' ')) header.remove_prefix(1);
  return header;
}

void read_type(std::string_view header, NpyArray& array, const std::string& name) {
  const std::string_view text = after_key(header, "descr", name);
  const bool good =
      text.size() >= 5 && text[0] == '\'' && text[4] == '\'' && text[3] >= '1' && text[3] <= '8';
  if (!good || std::string_view("|<").find(text[1]) == std::string_view::npos ||
      std::string_view("uibf").find(text[2]) == std::string_view::npos)
    refuse(name, fmt::format("holds numbers of a type that is not read: {}", text.substr(0, text.find(','))));
  array.kind = text[2];
  array.item = static_cast<std::size_t>(text[3] - '0');
}

void read_sizes(std::string_view header, NpyArray& array, const std::string& name) {
  std::string_view text = after_key(header, "shape", name);
  const auto close = text.find(')');
  if (text.empty() || text.front() != '(' || close == text.npos)
    refuse(name, "is a damaged .npy file: no shape");
  text = text.substr(1, close - 1);
  while (!text.empty()) {
    if (text.front() == ' ' || text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc()) refuse(name, "is a damaged .npy file: its shape is not made of numbers");
    array.sizes.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

}  // namespace

std::uint64_t NpyArray::count() const {
  std::uint64_t count = 1;
  for (const std::uint64_t size : sizes) count *= size;
  return count;
}

NpyArray parse_npy(std::span<const std::uint8_t> bytes, const std::string& name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kVersionEnd = 8;
  if (bytes.size() < kVersionEnd || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    refuse(name, "is not a .npy file");
  const std::size_t length_bytes = bytes[6] == 1 ? 2 : 4;  // since version 2
  std::size_t length = 0;
  if (bytes.size() < kVersionEnd + length_bytes) refuse(name, "is truncated: its header ends early");
  std::memcpy(&length, bytes.data() + kVersionEnd, length_bytes);
  const auto rest = bytes.subspan(kVersionEnd + length_bytes);
  if (length > rest.size()) refuse(name, "is truncated: its header ends early");
  const std::string_view header(reinterpret_cast<const char*>(rest.data()), length);

  NpyArray array;
  read_type(header, array, name);
  read_sizes(header, array, name);
  if (!after_key(header, "fortran_order", name).starts_with("False"))
    refuse(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  array.bytes = rest.subspan(length);
  std::uint64_t room = array.bytes.size() / array.item;
  for (const std::uint64_t size : array.sizes) {
    if (size == 0) refuse(name, "holds nothing: a size in its header is 0");
    if (size > room)
      refuse(name, fmt::format("is truncated: its header promises {} numbers", fmt::join(array.sizes, "x")));
    room /= size;
  }
  if (array.count() * array.item != array.bytes.size())
    refuse(name,
           fmt::format("goes on after the {} numbers its header promises", fmt::join(array.sizes, "x")));
  return array;
}

std::int64_t whole_number(const NpyArray& array, std::uint64_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, array.bytes.data() + index * array.item, array.item);
  if (array.kind != 'i') return static_cast<std::int64_t>(value);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(array.item);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

}  // namespace veche
