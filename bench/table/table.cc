#include "bench/table/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "bench/peak_memory.h"
#include "bench/rounds.h"
#include "bench/step/task.h"
#include "veche/base/machine/cores.h"
#include "veche/data/feed/loader.h"
#include "veche/data/sets/source.h"
#include "veche/data/table/table.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kPromisedSpeed = 150, kPromisedMemory = 500;  // MB/s, MiB
constexpr double kPromisedPart = 0.02;                         // of an epoch of mlp
constexpr std::size_t kBatch = 128;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rows like those of a bank: amounts, small whole numbers, fractions and categories. The first
// column numbers the rows. Deleted by the destructor.
class MadeUpTable {
 public:
  explicit MadeUpTable(std::size_t bytes)
      : path_(fs::temp_directory_path() / fmt::format("veche-bench-table-{}.csv", getpid())) {
    constexpr int kOfEach = 7;
    std::ofstream file(path_, std::ios::binary);
    std::string text = "row";
    for (int i = 0; i < kOfEach; ++i) text += fmt::format(",amount{0},count{0},share{0}", i);
    text += ",kind,y\n";
    RandomStream random(1, "bench table");
    for (std::size_t written = 0; written < bytes; ++rows_) {
      text += std::to_string(rows_);
      for (int i = 0; i < kOfEach; ++i)
        text += fmt::format(",{},{},{:.5f}", random.next() % 500'000,
                            static_cast<int>(random.next() % 10) - 2, random.uniform());
      text += fmt::format(",kind {},{}\n", random.next() % 5, random.next() % 2);
      if (text.size() < (1U << 20) && written + text.size() < bytes) continue;
      written += text.size();
      file << text;
      text.clear();
    }
    if (!file.flush()) throw RunError(fmt::format("cannot write {}", path_.string()));
  }
  ~MadeUpTable() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  MadeUpTable(const MadeUpTable&) = delete;
  MadeUpTable& operator=(const MadeUpTable&) = delete;

  DataSettings settings() const {
    DataSettings settings;
    settings.path = {path_.string()};
    settings.target = "y";
    return settings;
  }
  const fs::path& path() const { return path_; }
  std::size_t rows() const { return rows_; }
  double megabytes() const { return static_cast<double>(fs::file_size(path_)) / 1e6; }

 private:
  const fs::path path_;
  std::size_t rows_ = 0;
};

// The row numbers have a mean and a deviation that are known.
void check(const Table& table, const MadeUpTable& made) {
  const auto rows = static_cast<double>(made.rows());
  const ColumnSums& column = table.sums().columns.front();
  const double mean = (rows - 1) / 2, squares = rows * (rows * rows - 1) / 12;
  if (table.size() != made.rows() || std::abs(column.mean / mean - 1) > 1e-6 ||
      std::abs(column.squares / squares - 1) > 1e-5)
    throw RunError("bench table: the packed rows differ from those of the file");
}

// Writing the file takes long enough to be done once.
std::vector<BenchCase> bench_packing(const BenchOptions& options) {
  const MadeUpTable made(options.quick ? 20'000'000 : 1'000'000'000);
  Rounds speed(1), memory(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    forget_peak_memory();
    const auto start = Clock::now();
    const Table table(made.path(), made.settings(), nullptr, {}, {}, usable_cores());
    speed.ours(made.megabytes() / seconds_since(start));
    speed.theirs(0, kPromisedSpeed);
    memory.ours(1 / peak_memory());
    memory.theirs(0, 1 / kPromisedMemory);
    check(table, made);
  }
  const std::string name = fmt::format("packing a CSV file of {:.0f} MB", made.megabytes());
  BenchCase peak = memory.result(0, name + ": peak memory", "MiB", "limit", 1);
  peak.value = 1 / peak.value;
  peak.peer_value = kPromisedMemory;
  return {speed.result(0, name, "MB/s", "limit", 1), peak};
}

double prepared_per_second(Loader& loader, std::size_t count) {
  const auto start = Clock::now();
  std::size_t done = 0;
  while (done < count) done += loader.next().size();
  return static_cast<double>(done) / seconds_since(start);
}

// Rows per second, of the time in which training waits for a batch and of the rest.
struct Epoch {
  double waiting = 0, training = 0;
};

Epoch train(Loader& loader, const TrainingTask& task, Optimizer& optimizer, std::size_t count) {
  const auto start = Clock::now();
  double waited = 0;
  std::size_t done = 0;
  while (done < count) {
    const auto before = Clock::now();
    const Batch batch = loader.next();
    waited += seconds_since(before);
    task.learner().compute_gradient(batch);
    optimizer.update(task.learner().parameters(), task.learner().gradients(),
                     {.rate = 0.01, .gradient_scale = 1, .number = batch.step + 1});
    done += batch.size();
  }
  const auto rows = static_cast<double>(done);
  return {.waiting = rows / waited, .training = rows / (seconds_since(start) - waited)};
}

// What a loader costs, twice: all the work of preparing batches, on one core, and what training
// notices of it while another core does that work.
std::vector<BenchCase> bench_loading(const BenchOptions& options) {
  const MadeUpTable made(options.quick ? 2'000'000 : 40'000'000);
  const DataSource source = open_data(made.settings(), 1);
  std::vector<std::uint32_t> samples(source.train->size());
  std::iota(samples.begin(), samples.end(), 0U);
  const auto loader = [&](Prefetcher& prefetcher) {
    return Loader(source.train, {{.node = 0, .samples = samples}}, {.batch = kBatch}, prefetcher);
  };
  Prefetcher nobody(0), somebody(1);
  Loader alone = loader(nobody), ahead = loader(somebody);
  ModelSpec spec;
  spec.name = "mlp";
  spec.settings.hidden = {64, 32};
  spec.input = source.train->shape();
  spec.classes = source.train->classes();
  const TrainingTask task(spec, kBatch);
  const auto optimizer = make_optimizer({}, task.learner().parameters().size());
  train(ahead, task, *optimizer, samples.size() / 10);  // the first steps make room
  Rounds preparing(1), waiting(1);
  for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
    preparing.ours(prepared_per_second(alone, samples.size()));
    const Epoch epoch = train(ahead, task, *optimizer, samples.size());
    preparing.theirs(0, epoch.training);
    waiting.ours(epoch.waiting);
    waiting.theirs(0, epoch.training);
  }
  const char* const peer = "mlp 64,32 trained on a core";
  return {preparing.result(0, "preparing batches of 128 rows", "rows/s", peer),
          waiting.result(0, "waiting for batches of 128 rows", "rows/s", peer, 1 / kPromisedPart)};
}

}  // namespace

std::vector<BenchCase> bench_table(const BenchOptions& options) {
  std::vector<BenchCase> cases = bench_packing(options);
  for (BenchCase& one : bench_loading(options)) cases.push_back(std::move(one));
  return cases;
}

}  // namespace veche
