#pragma once

#include <filesystem>
#include <functional>

#include "veche/data/sets/source.h"

namespace veche {

struct PackOptions {
  bool decode = false;  // store pixels instead of files
  int resize = 0;       // shorter side in pixels; decoded images also become square. 0: unchanged
  int quality = 95;     // JPEG quality of resized images
  int threads = 1;
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;
  OnDamage bad = OnDamage::refuse;
  // Called between samples. May throw to stop, which leaves nothing behind.
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

struct PackResult {
  std::size_t train = 0, test = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // samples left out
  std::vector<std::string> damage;
};

// Packs an opened data set into the folder `out`. The bytes do not depend on the number of threads.
// Throws RequestError. After any exception `out` does not exist.
PackResult pack(const DataSource& source, const std::filesystem::path& out, const PackOptions& options);

}  // namespace veche
