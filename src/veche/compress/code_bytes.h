#pragma once

#include <cstring>

#include "veche/compress/codec.h"

namespace veche {

// Writes a code sequentially.
class CodeWriter {
 public:
  CodeWriter(MessagePool& pool, std::size_t bytes) : message_(pool.make(bytes)) {}

  // Appends uninitialised space for `count` items.
  template <class T>
  T* room(std::size_t count) {
    T* const here = reinterpret_cast<T*>(message_.writable<std::byte>().data() + at_);
    at_ += count * sizeof(T);
    return here;
  }
  template <class T>
  void put(const T& item) {
    std::memcpy(room<T>(1), &item, sizeof(T));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(room<std::byte>(bytes.size()), bytes.data(), bytes.size());
  }
  Message message() && { return std::move(message_); }

 private:
  Message message_;
  std::size_t at_ = 0;
};

// Parses a code. Throws DamagedCode if it is too short, and at the end if it is too long.
class CodeReader {
 public:
  explicit CodeReader(std::span<const std::byte> code) : code_(code), rest_(code) {}

  template <class T>
  const T* items(std::size_t count) {
    return reinterpret_cast<const T*>(bytes(count * sizeof(T)).data());
  }
  template <class T>
  T item() {
    T result;
    std::memcpy(&result, items<T>(1), sizeof(T));
    return result;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    if (count > rest_.size()) damaged("ends after " + std::to_string(code_.size()) + " bytes");
    const auto result = rest_.first(count);
    rest_ = rest_.subspan(count);
    return result;
  }
  std::span<const std::byte> rest() const { return rest_; }
  void end() const {
    if (!rest_.empty()) damaged("has " + std::to_string(rest_.size()) + " bytes too many");
  }
  [[noreturn]] static void damaged(const std::string& what) { throw DamagedCode("a code that " + what); }

 private:
  const std::span<const std::byte> code_;
  std::span<const std::byte> rest_;
};

// Throws DamagedCode if any scale is NaN or infinite.
void check_scales(const float* scales, std::size_t count);

[[noreturn]] void not_a_number();

}  // namespace veche
