#include "bench/load/small_files.h"

#include <unistd.h>

#include <fstream>

#include "veche/data/formats/image/image.h"
#include "veche/data/formats/pack/pack.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr int kQuality = 90;

std::vector<std::uint8_t> made_up(RandomStream& random) {
  constexpr int kRough = 8, kSide = 32;
  Image rough{.width = kRough, .height = kRough, .channels = 3, .pixels = {}};
  for (int i = 0; i < kRough * kRough * 3; ++i)
    rough.pixels.push_back(static_cast<std::uint8_t>(random.next() & 0xff));
  Image image;
  resize_shorter_side(rough, kSide, image);
  return encode_jpeg(image, kQuality);
}

// The file of a sample, encoded if necessary.
std::vector<std::uint8_t> jpeg_of(const Dataset& set, std::size_t index) {
  if (const auto* files = dynamic_cast<const DecodedSet*>(&set)) {
    std::vector<std::uint8_t> room;
    const auto bytes = files->files().bytes(index, room);
    return {bytes.begin(), bytes.end()};
  }
  const PixelSet& images = images_of(set);
  const Shape shape = images.shape();
  std::vector<std::uint8_t> room(shape.size());
  const auto pixels = images.pixels(index, room);
  return encode_jpeg({.width = shape.width,
                      .height = shape.height,
                      .channels = shape.channels,
                      .pixels = {pixels.begin(), pixels.end()}},
                     kQuality);
}

}  // namespace

DataSource open_path(const fs::path& path) {
  DataSettings settings;
  settings.path = {path.string()};
  return open_data(settings, 1);
}

const PixelSet& images_of(const Dataset& set) {
  if (const auto* images = dynamic_cast<const PixelSet*>(&set)) return *images;
  throw RequestError("--data: that is not a set of images");
}

SmallFiles::SmallFiles(const BenchOptions& options)
    : folder_(fs::temp_directory_path() / ("veche-bench-load-" + std::to_string(getpid()))) {
  if (options.data.empty()) {
    what = "made-up images";
    options.tell("load: no CIFAR-10 was found (--data or CIFAR10=FILE names one): made-up images instead");
    write_made_up(options.quick ? 500 : 50000, options.quick ? 100 : 10000);
  } else {
    const DataSource given = open_path(options.data);
    what = given.name;
    write_all_of(given, options.quick);
  }
  in_folder = open_path(folder_ / "files");
  pack(in_folder, folder_ / "packed", {});
  packed = open_path(folder_ / "packed");
  pack(in_folder, folder_ / "decoded", {.decode = true});
  decoded = open_path(folder_ / "decoded");
  ::sync();
}

SmallFiles::~SmallFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void SmallFiles::write_all_of(const DataSource& given, bool quick) {
  const std::size_t stride = quick ? 1 + (given.train->size() + given.test->size()) / 600 : 1;
  for (const auto& [part, set] : {std::pair("train", given.train), std::pair("test", given.test)})
    for (std::size_t i = 0; i < set->size(); i += stride)
      write_file(fs::path(part) / class_name(given, set->label(i)) / (std::to_string(i) + ".jpg"),
                 jpeg_of(*set, i));
}

void SmallFiles::write_made_up(std::size_t train, std::size_t test) {
  constexpr std::size_t kClasses = 10;
  RandomStream random(1, "bench files");
  for (std::size_t i = 0; i < train + test; ++i)
    write_file(
        fs::path(i < train ? "train" : "test") / std::to_string(i % kClasses) / (std::to_string(i) + ".jpg"),
        made_up(random));
}

void SmallFiles::write_file(const fs::path& name, std::span<const std::uint8_t> bytes) const {
  const fs::path path = folder_ / "files" / name;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw RunError("cannot write " + path.string());
}

}  // namespace veche
