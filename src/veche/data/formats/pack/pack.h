#pragma once

#include <filesystem>
#include <functional>

#include "veche/data/sets/source.h"

namespace veche {

struct PackOptions {
  bool decode = false;  // pixels instead of files
  int resize = 0;       // the shorter side, in pixels; decoded images also become square. 0: as they are
  int quality = 95;     // of the JPEG that a resized image is kept as
  int threads = 1;
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;
  OnDamage bad = OnDamage::refuse;
  // Called between samples; may throw to stop, and then nothing remains.
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

struct PackResult {
  std::size_t train = 0, test = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // left out
  std::vector<std::string> damage;
};

// Packs what open_data opened into the folder `out`. The bytes are the same whatever the number of threads.
// Throws RequestError; whatever it throws, `out` is then not there.
PackResult pack(const DataSource& source, const std::filesystem::path& out, const PackOptions& options);

}  // namespace veche
