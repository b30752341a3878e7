#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "veche/export.h"

namespace veche {

// Bytes that several may read and nobody changes any more, shared by reference count: between threads a
// message is a pointer. Aligned for vector instructions. Made from a MessagePool and written once, before it
// is sent.
class Message {
 public:
  Message() = default;
  Message(std::shared_ptr<std::byte> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  // The bytes as items of T. The size must be a multiple of T's.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
  }
  // For the one who fills a new message, before anyone else has it.
  template <class T>
  std::span<T> writable() {
    return {reinterpret_cast<T*>(data_.get()), size_ / sizeof(T)};
  }

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

// Gives out messages and takes their memory back when the last reader lets go, so that the steady state of a
// run allocates nothing large. Keeps what was needed lately and lets the rest go. Thread-safe; messages may
// outlive the pool. A copy is the same pool.
class VECHE_API MessagePool {
 public:
  MessagePool();
  Message make(std::size_t bytes);
  // Of memory that no message uses now.
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
