#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "veche/errors.h"
#include "veche/export.h"
#include "veche/message.h"
#include "veche/node_id.h"

namespace veche {

// Messages that hold a plain struct and a payload of bytes or floats. Packing writes both without
// padding; unpacking checks the size first. `from` is the peer as people know it
// (Endpoint::known_as), and `what` says what was expected of it, such as "a snapshot".

// A peer sent a message that cannot be what was expected of it. The sentence names the peer.
class VECHE_API BadMessage : public RunError {
 public:
  BadMessage(NodeId peer, std::size_t bytes, const std::string& expected)
      : RunError("node " + std::to_string(peer.value) + " sent " + std::to_string(bytes) + " bytes where " +
                 expected + " was expected"),
        peer_(peer) {}
  NodeId peer() const { return peer_; }

 private:
  NodeId peer_;
};

// A struct and the payload of the same message, which must outlive it.
template <class Struct>
struct Unpacked {
  Struct fields;
  std::span<const std::byte> payload;
};

// Joins parts of any plain type.
inline Message pack_bytes(MessagePool& pool, std::initializer_list<std::span<const std::byte>> parts) {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  Message message = pool.make(size);
  std::byte* at = message.writable<std::byte>().data();
  for (const auto& part : parts) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  return message;
}

template <class T>
std::span<const std::byte> bytes_of(const T& item) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&item, 1));
}

// The header first, then the payload.
template <class Header>
Message pack(MessagePool& pool, const Header& header, std::span<const std::byte> payload) {
  return pack_bytes(pool, {bytes_of(header), payload});
}
// None: the message is too short. For callers that can go on without it, such as with another peer.
template <class Header>
std::optional<Unpacked<Header>> try_unpack(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Header>);
  if (message.size() < sizeof(Header)) return {};
  Unpacked<Header> unpacked{{}, message.bytes().subspan(sizeof(Header))};
  std::memcpy(&unpacked.fields, message.bytes().data(), sizeof(Header));
  return unpacked;
}
template <class Header>
Unpacked<Header> unpack(const Message& message, NodeId from, std::string_view what) {
  if (const auto unpacked = try_unpack<Header>(message)) return *unpacked;
  throw BadMessage(from, message.size(),
                   std::string(what) + " of at least " + std::to_string(sizeof(Header)) + " bytes");
}

// The payload first, then the trailer: so floats are aligned for vector instructions.
template <class Trailer>
Message pack_with_trailer(MessagePool& pool, std::span<const std::byte> payload, const Trailer& trailer) {
  return pack_bytes(pool, {payload, bytes_of(trailer)});
}
template <class Trailer>
Unpacked<Trailer> unpack_with_trailer(const Message& message, NodeId from, std::string_view what) {
  static_assert(std::is_trivially_copyable_v<Trailer>);
  if (message.size() < sizeof(Trailer))
    throw BadMessage(from, message.size(),
                     std::string(what) + " of at least " + std::to_string(sizeof(Trailer)) + " bytes");
  const std::size_t payload = message.size() - sizeof(Trailer);
  Unpacked<Trailer> unpacked{{}, message.bytes().first(payload)};
  std::memcpy(&unpacked.fields, message.bytes().data() + payload, sizeof(Trailer));
  return unpacked;
}

// The one struct that a message consists of.
template <class T>
T unpack_item(const Message& message, NodeId from, std::string_view what) {
  if (message.size() != sizeof(T))
    throw BadMessage(from, message.size(), std::string(what) + " of " + std::to_string(sizeof(T)) + " bytes");
  return unpack<T>(message, from, what).fields;
}

// A copy of the items of a part of a message, which need not be aligned. The caller has checked
// that the bytes are whole items.
template <class T>
std::vector<T> copied_items(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
  return items;
}

// Exactly `count` items, in place.
template <class T>
std::span<const T> unpack_items(const Message& message, std::size_t count, NodeId from,
                                std::string_view what) {
  if (message.size() != count * sizeof(T))
    throw BadMessage(from, message.size(),
                     std::string(what) + " of " + std::to_string(count * sizeof(T)) + " bytes");
  return message.as<T>();
}

}  // namespace veche
