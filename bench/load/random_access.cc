#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <numeric>

#include "bench/load/access.h"
#include "bench/rounds.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;
using Order = std::vector<std::uint32_t>;

// Drops cached names, inodes and pages; requires root.
bool forget_names() {
  std::ofstream control("/proc/sys/vm/drop_caches");
  control << 3 << std::flush;
  return control.good();
}

// Training samples followed by test samples.
struct AllFiles {
  explicit AllFiles(const DataSource& source)
      : train(dynamic_cast<const DecodedSet&>(*source.train)),
        test(dynamic_cast<const DecodedSet&>(*source.test)) {}

  std::size_t size() const { return train.size() + test.size(); }
  template <class Use>
  void at(std::size_t index, const Use& use) const {
    index < train.size() ? use(train, index) : use(test, index - train.size());
  }

  const DecodedSet& train;
  const DecodedSet& test;
};

template <class Read>
double samples_per_second(const Order& order, const Read& read) {
  forget_names();
  const auto start = Clock::now();
  for (const std::uint32_t index : order) read(index);
  return static_cast<double>(order.size()) / std::chrono::duration<double>(Clock::now() - start).count();
}

double read_bytes(const AllFiles& files, const Order& order, std::uint64_t& sum) {
  std::vector<std::uint8_t> room;
  return samples_per_second(order, [&](std::uint32_t sample) {
    files.at(sample, [&](const DecodedSet& set, std::size_t index) {
      const auto bytes = set.files().bytes(index, room);
      sum = std::accumulate(bytes.begin(), bytes.end(), sum);
    });
  });
}

double read_images(const AllFiles& files, const Order& order, std::uint64_t& sum) {
  std::vector<std::uint8_t> room(files.train.shape().size());
  return samples_per_second(order, [&](std::uint32_t sample) {
    files.at(sample, [&](const DecodedSet& set, std::size_t index) {
      sum += set.pixels(index, room)[index % room.size()] * (index + std::uint64_t{1});
    });
  });
}

}  // namespace

std::vector<BenchCase> bench_random_access(const SmallFiles& files, const BenchOptions& options) {
  constexpr int kMostRounds = 5;  // each takes seconds, and the disk's speed varies little
  constexpr double kPromised = 3;
  const std::string names =
      forget_names() ? "cold names" : "WARM names: only root may make the system forget them";
  const AllFiles packed(files.packed), in_folder(files.in_folder);
  Order order(packed.size());
  std::iota(order.begin(), order.end(), 0);
  Rounds bytes(1), images(1);
  for (int round = 0; round < (options.quick ? 2 : std::min(options.rounds, kMostRounds)); ++round) {
    RandomStream(static_cast<std::uint64_t>(round), "bench order").shuffle(std::span(order));
    const auto both = [&](Rounds& rounds, const auto& measure) {
      std::uint64_t ours = 0, theirs = 0;
      rounds.ours(measure(packed, order, ours));
      rounds.theirs(0, measure(in_folder, order, theirs));
      if (ours != theirs)
        throw RunError("bench load: packed samples differ from the files they were packed from");
    };
    both(bytes, read_bytes);
    both(images, read_images);
  }
  return {bytes.result(0, fmt::format("random access to {} packed JPEG files, {}", order.size(), names),
                       "samples/s", "folder", kPromised),
          images.result(0, "the same, decoded", "samples/s", "folder", kPromised)};
}

}  // namespace veche
