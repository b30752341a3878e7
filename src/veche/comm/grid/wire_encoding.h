#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace veche::grid {

// The text is malformed; the message names what was expected.
class MalformedMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Bytes = std::vector<std::uint8_t>;
inline Bytes as_bytes(std::string_view text) { return {text.begin(), text.end()}; }
inline std::string_view view_of_bytes(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes numbers and texts sequentially, little-endian, for messages and files.
class Writer {
 public:
  template <class Integer>
  Writer& number(Integer value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i, bits >>= 8)
      text_.push_back(static_cast<char>(bits & 0xff));
    return *this;
  }
  Writer& real(double value) { return number(std::bit_cast<std::uint64_t>(value)); }
  template <std::size_t N>
  Writer& bytes(const std::array<std::uint8_t, N>& value) {
    text_.append(value.begin(), value.end());
    return *this;
  }
  Writer& raw(std::string_view value) {
    text_.append(value);
    return *this;
  }
  Writer& text(std::string_view value) { return number(static_cast<std::uint32_t>(value.size())).raw(value); }

  template <class List, class Each>
  Writer& list(const List& items, const Each& each) {
    number(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) each(item);
    return *this;
  }

  const std::string& str() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads them back. Never reads beyond the end or allocates more than is there; throws
// MalformedMessage.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <class Integer>
  Integer number() {
    const std::string_view from = raw(sizeof(Integer));
    std::uint64_t bits = 0;
    for (std::size_t i = sizeof(Integer); i-- > 0;) bits = bits << 8 | static_cast<std::uint8_t>(from[i]);
    return static_cast<Integer>(bits);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  bool flag() {
    const auto value = number<std::uint8_t>();
    if (value > 1) throw MalformedMessage("a flag is neither 0 nor 1");
    return value == 1;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> bytes() {
    const std::string_view from = raw(N);
    std::array<std::uint8_t, N> value{};
    for (std::size_t i = 0; i < N; ++i) value[i] = static_cast<std::uint8_t>(from[i]);
    return value;
  }
  std::string_view raw(std::size_t length) {
    if (length > rest_.size()) throw MalformedMessage("it ends too early");
    const std::string_view part = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return part;
  }
  std::string text(std::size_t most) {
    const auto length = number<std::uint32_t>();
    if (length > most) throw MalformedMessage("a text in it is too long");
    return std::string(raw(length));
  }
  // The number of items that follow, each of at least `least` bytes.
  std::size_t count(std::size_t most, std::size_t least = 1) {
    const auto items = number<std::uint32_t>();
    if (items > most || items * least > rest_.size())
      throw MalformedMessage("it announces more items than it holds");
    return items;
  }
  std::string_view rest() const { return rest_; }
  void end() const {
    if (!rest_.empty()) throw MalformedMessage("trailing bytes");
  }

 private:
  std::string_view rest_;
};

}  // namespace veche::grid
