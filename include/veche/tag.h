#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>

namespace veche {

// The conversation that a message belongs to. Messages with the same sender, receiver and tag
// arrive in the order of sending. A tag may have children, three levels deep.
struct Tag {
  std::uint64_t value = 0;
  auto operator<=>(const Tag&) const = default;

  constexpr Tag child(std::uint64_t which) const {
    if (which >= kChildren || (value >> (64 - kChildBits)) != 0)
      throw std::logic_error("a tag has no room for this child");
    return {value << kChildBits | (which + 1)};
  }

  static constexpr int kChildBits = 20;
  static constexpr std::uint64_t kChildren = (std::uint64_t{1} << kChildBits) - 1;
};

}  // namespace veche
