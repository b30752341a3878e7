#include "bench/load/small_files.h"

#include <unistd.h>

#include <fstream>

#include "veche/base/random.h"
#include "veche/data/image/image.h"
#include "veche/data/pack/pack.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

Image picture(RandomStream& random) {
  constexpr int kRough = 8, kSide = 32;
  Image rough{.width = kRough, .height = kRough, .channels = 3, .pixels = {}};
  for (int i = 0; i < kRough * kRough * 3; ++i)
    rough.pixels.push_back(static_cast<std::uint8_t>(random.next() & 0xff));
  Image image;
  resize_shorter_side(rough, kSide, image);
  return image;
}

DataSource open(const fs::path& path) {
  Options options;
  options.set("path", {path.string()});
  return open_data(options, 1);
}

}  // namespace

SmallFiles::SmallFiles(std::size_t train)
    : folder_(fs::temp_directory_path() / ("veche-bench-load-" + std::to_string(getpid()))) {
  constexpr std::size_t kClasses = 10, kTest = 100;
  RandomStream random(1, "bench files");
  for (std::size_t i = 0; i < train + kTest; ++i) {
    const fs::path folder = folder_ / "files" / (i < train ? "train" : "test") / std::to_string(i % kClasses);
    if (i < kClasses || (i >= train && i < train + kClasses)) fs::create_directories(folder);
    const std::vector<std::uint8_t> bytes = encode_jpeg(picture(random), 90);
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  in_folder = open(folder_ / "files");
  pack(in_folder, folder_ / "packed", {});
  packed = open(folder_ / "packed");
  ::sync();
}

SmallFiles::~SmallFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace veche
