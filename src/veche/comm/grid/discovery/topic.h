#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// A public name for a run: it can be derived from the run's id, but does not reveal the id. `use`
// separates different uses.
inline std::array<std::uint8_t, 32> topic_of(const MemberId& run, std::string_view use) {
  std::string text = "veche " + std::string(use) + " ";
  text.append(run.bytes.begin(), run.bytes.end());
  std::array<std::uint8_t, 32> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

}  // namespace veche::grid
