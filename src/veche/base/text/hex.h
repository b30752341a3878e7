#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace veche {

// Bytes as two hexadecimal digits each, for files and messages that hold text.
inline std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    digits += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return digits;
}

// nullopt for anything that `to_hex` does not write.
inline std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return {};
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(digits.data() + at, digits.data() + at + 2, byte, 16);
    if (error != std::errc() || end != digits.data() + at + 2) return {};
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace veche
