#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace veche::grid {

// Numbers are little-endian, lengths come before what they measure. A list is never longer than what its
// place allows, nor than the bytes that are there.
class WireWriter {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void raw(std::span<const std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void text(const std::string& text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  template <class List, class Each>
  void list(const List& items, const Each& each) {
    number(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) each(item);
  }
  std::vector<std::uint8_t> bytes() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Reads what WireWriter wrote. What does not fit gives zeros, and `whole()` is then false for good.
class WireReader {
 public:
  explicit WireReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    std::uint64_t value = 0;
    if (fits(sizeof(T)))
      for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::uint64_t{bytes_[at_++]} << (8 * i);
    return static_cast<T>(value);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  bool flag() {
    const auto value = number<std::uint8_t>();
    good_ = good_ && value <= 1;
    return value == 1;
  }
  std::span<const std::uint8_t> raw(std::size_t length) {
    if (!fits(length)) return {};
    at_ += length;
    return bytes_.subspan(at_ - length, length);
  }
  std::string text(std::size_t most) {
    const auto bytes = raw(length(most));
    return {bytes.begin(), bytes.end()};
  }
  // How many items of at least `least` bytes follow.
  std::size_t length(std::size_t most, std::size_t least = 1) {
    const std::size_t count = number<std::uint32_t>();
    good_ = good_ && count <= most && count * least <= bytes_.size() - at_;
    return good_ ? count : 0;
  }
  void refuse() { good_ = false; }
  bool good() const { return good_; }
  bool whole() const { return good_ && at_ == bytes_.size(); }

 private:
  bool fits(std::size_t length) {
    good_ = good_ && length <= bytes_.size() - at_;
    return good_;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace veche::grid
