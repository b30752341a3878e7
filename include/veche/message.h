#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "veche/errors.h"
#include "veche/export.h"

namespace veche {

// Immutable bytes, shared by reference count: between threads a message is a pointer. Aligned for
// vector instructions. Made by a MessagePool and written once, before it is sent. For messages that
// hold a struct and a payload see veche/packed.h.
class Message {
 public:
  Message() = default;
  Message(std::shared_ptr<std::byte> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  // A prefix, in the same memory.
  Message first(std::size_t size) const { return {data_, size}; }

  // The bytes as items of T. Throws RunError unless the size is a multiple of T's.
  template <class T>
  std::span<const T> as() const {
    if (size_ % sizeof(T) != 0) [[unlikely]]
      throw RunError("a message of " + std::to_string(size_) + " bytes does not hold whole items of " +
                     std::to_string(sizeof(T)) + " bytes");
    return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
  }
  // To fill a new message, before it is shared.
  template <class T>
  std::span<T> writable() {
    return {reinterpret_cast<T*>(data_.get()), size_ / sizeof(T)};
  }

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

// Makes messages, and reuses their memory when the last reader has released it, so that a run in
// its steady state allocates nothing large. Keeps as much memory as was needed lately and frees the
// rest. Thread-safe; messages may outlive the pool. A copy is the same pool.
class VECHE_API MessagePool {
 public:
  MessagePool();
  Message make(std::size_t bytes);
  // Memory that no message uses now.
  std::size_t kept_bytes() const;

  template <class T>
  Message copy_of(std::span<const T> items) {
    Message message = make(items.size_bytes());
    std::copy(items.begin(), items.end(), message.writable<T>().begin());
    return message;
  }
  template <class T>
  Message copy_of_item(const T& item) {
    return copy_of(std::span<const T>(&item, 1));
  }

 private:
  struct Store;
  std::shared_ptr<Store> store_;
};

}  // namespace veche
