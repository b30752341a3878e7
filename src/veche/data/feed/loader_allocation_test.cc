#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include "veche/data/feed/loader.h"
#include "veche/data/sets/bulk_samples.h"
#include "veche/data/sets/image_set.h"

// A separate program, because it counts every allocation of the process. Not inlined: otherwise the
// compiler sees memory from new passed to free and warns.
static std::atomic<long> allocations{0};

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace veche {
namespace {

// Read a batch at a time.
class Bulk final : public Dataset, public BulkSamples {
 public:
  std::size_t size() const override { return 100; }
  Shape shape() const override { return {3, 1, 1}; }
  int classes() const override { return 2; }
  std::int64_t label(std::size_t index) const override { return static_cast<std::int64_t>(index % 2); }
  void read(std::size_t, std::span<float> out) const override { std::ranges::fill(out, 0.0F); }
  void read_many(std::span<const std::uint32_t> samples, const Room& room) const override {
    std::fill_n(room.inputs, 3 * samples.size(), 0.0F);
    std::fill_n(room.labels, samples.size(), std::int64_t{1});
  }
};

void expect_no_allocation(const std::shared_ptr<const Dataset>& data) {
  std::vector<std::uint32_t> all(100);
  std::iota(all.begin(), all.end(), 0u);

  for (const int workers : {0, 1, 2}) {
    Prefetcher prefetcher(workers);
    Loader loader(data, {{.node = 0, .samples = all}, {.node = 1, .samples = {1, 2, 3}}}, {.batch = 7},
                  prefetcher);
    BatchStorage storage;
    read_batch(*data, 0, 40, storage);
    for (int step = 0; step < 5; ++step) loader.next();
    const long before = allocations;
    std::size_t seen = 0;
    for (int step = 0; step < 150; ++step) seen += loader.next().size();  // ten epochs
    for (std::size_t from = 0; from < 100; from += 40) seen += read_batch(*data, from, 40, storage).size();
    EXPECT_EQ(allocations - before, 0) << workers << " workers";
    EXPECT_EQ(seen, 10 * 103u + 100u);
  }
}

TEST(LoaderAllocation, NothingAfterTheFirstSteps) {
  Samples samples = samples_of({1, 2, 2}, 2, std::vector<std::uint8_t>(400), std::vector<std::int64_t>(100));
  const auto data =
      std::make_shared<ImageSet>(std::move(samples), Normalization{.mean = {0}, .deviation = {1}});
  expect_no_allocation(data);
  expect_no_allocation(std::make_shared<Bulk>());
}

}  // namespace
}  // namespace veche
