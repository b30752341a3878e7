#include "bench/load/random_access.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "bench/rounds.h"
#include "veche/base/errors.h"
#include "veche/base/random.h"
#include "veche/data/decoded_set.h"
#include "veche/data/image/image.h"
#include "veche/data/pack/pack.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// 50,000 + 10,000 files in ten classes, as CIFAR-10 has them: 32 x 32 pixels, about a kilobyte each.
class Files {
 public:
  explicit Files(std::size_t train)
      : folder_(fs::temp_directory_path() / ("veche-bench-load-" + std::to_string(getpid()))) {
    RandomStream random(1, "bench files");
    for (std::size_t i = 0; i < train + train / 5; ++i) {
      const fs::path folder = folder_ / "files" / (i < train ? "train" : "test") / std::to_string(i % 10);
      if (i < 10 || (i >= train && i < train + 10)) fs::create_directories(folder);
      const std::vector<std::uint8_t> bytes = encode_jpeg(picture(random), 90);
      std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    Options options;
    options.set("path", {(folder_ / "files").string()});
    in_folder = open_data(options, 1);
    pack(in_folder, folder_ / "packed", {});
    options.set("path", {(folder_ / "packed").string()});
    packed = open_data(options, 1);
    ::sync();
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  DataSource in_folder, packed;

 private:
  static Image picture(RandomStream& random) {
    constexpr int kSide = 32;
    Image rough{.width = 8, .height = 8, .channels = 3, .pixels = {}};
    for (int i = 0; i < 8 * 8 * 3; ++i)
      rough.pixels.push_back(static_cast<std::uint8_t>(random.next() & 0xff));
    Image image;
    resize_shorter_side(rough, kSide, image);
    return image;
  }

  const fs::path folder_;
};

// Names, inodes and pages; only root may.
bool forget_names() {
  std::ofstream control("/proc/sys/vm/drop_caches");
  control << 3 << std::flush;
  return control.good();
}

const DecodedSet& files_of(const DataSource& source) {
  return dynamic_cast<const DecodedSet&>(*source.train);
}

double bytes_per_second(const DataSource& source, const std::vector<std::uint32_t>& order,
                        std::uint64_t& sum) {
  const EncodedSet& files = files_of(source).files();
  std::vector<std::uint8_t> room;
  forget_names();
  const auto start = Clock::now();
  for (const std::uint32_t index : order) {
    const auto bytes = files.bytes(index, room);
    sum = std::accumulate(bytes.begin(), bytes.end(), sum);
  }
  return static_cast<double>(order.size()) / std::chrono::duration<double>(Clock::now() - start).count();
}

double images_per_second(const DataSource& source, const std::vector<std::uint32_t>& order,
                         std::uint64_t& sum) {
  const DecodedSet& set = files_of(source);
  std::vector<std::uint8_t> room(set.shape().size());
  forget_names();
  const auto start = Clock::now();
  for (const std::uint32_t index : order)
    sum += set.pixels(index, room)[index % room.size()] * (index + 1ULL);
  return static_cast<double>(order.size()) / std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::vector<BenchCase> bench_random_access(const BenchOptions& options) {
  constexpr int kMostRounds = 5;  // each takes seconds, and the disk differs little from one to the next
  const Files files(options.quick ? 500 : 50000);
  const std::string names =
      forget_names() ? "cold names" : "WARM names: only root may make the system forget them";
  std::vector<std::uint32_t> order(files.packed.train->size());
  std::iota(order.begin(), order.end(), 0);
  Rounds bytes(1), images(1);
  for (int round = 0; round < (options.quick ? 2 : std::min(options.rounds, kMostRounds)); ++round) {
    RandomStream(static_cast<std::uint64_t>(round), "bench order").shuffle(std::span(order));
    const auto both = [&](Rounds& rounds, const auto& measure) {
      std::uint64_t ours = 0, theirs = 0;
      rounds.ours(measure(files.packed, order, ours));
      rounds.theirs(0, measure(files.in_folder, order, theirs));
      if (ours != theirs)
        throw RunError("bench load: packed samples differ from the files they were packed from");
    };
    both(bytes, bytes_per_second);
    both(images, images_per_second);
  }
  constexpr double kPromised = 3;
  const std::string count = options.quick ? "600" : "60,000";
  return {bytes.result(0, "random access to " + count + " JPEG files, " + names, "samples/s", "folder",
                       kPromised),
          images.result(0, "the same, decoded", "samples/s", "folder", kPromised)};
}

}  // namespace veche
