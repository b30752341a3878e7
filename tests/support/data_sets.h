#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/errors.h"
#include "veche/settings.h"

namespace veche::testing {

// The section [data] for what lies at a path.
inline DataSettings at(const std::filesystem::path& path, OnDamage bad = OnDamage::refuse) {
  DataSettings settings;
  settings.path = {path.string()};
  settings.bad = bad;
  return settings;
}

// The bytes of one sample of a set of images.
inline std::vector<std::uint8_t> pixels(const Dataset& data, std::size_t index) {
  const auto& set = dynamic_cast<const PixelSet&>(data);
  std::vector<std::uint8_t> room(set.shape().size());
  const auto bytes = set.pixels(index, room);
  return {bytes.begin(), bytes.end()};
}

// The error message of an action.
inline std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace veche::testing
