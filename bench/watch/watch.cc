#include "bench/watch/watch.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "bench/rounds.h"
#include "bench/watch/thread_seconds.h"
#include "bench/watch/viewer.h"
#include "veche/base/thread/mutex.h"
#include "veche/config.h"
#include "veche/errors.h"
#include "veche/runtime/run/training.h"
#include "web/watch/service.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using WatchClock = std::chrono::steady_clock;

constexpr int kViewers = 4;
constexpr int kPastReports = 10'000;
constexpr double kPromisedWhenWatched = 0.99;
constexpr auto kSettle = std::chrono::milliseconds(600);  // until viewers have the current state

class TemporaryRuns {
 public:
  TemporaryRuns() : path_(fs::temp_directory_path() / fmt::format("veche-bench-watch-{}", getpid())) {}
  ~TemporaryRuns() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

// The service of `veche train --watch`, with viewers.
class Watched {
 public:
  explicit Watched(const fs::path& folder)
      : service_({folder}, web::Guard("127.0.0.1", "")),
        server_(web::start_http_server(web::WatchService::http_options(), service_)) {
    for (int i = 0; i < kViewers; ++i)
      viewers_.push_back(std::make_unique<Viewer>(server_->port(), folder.filename().string()));
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool is_viewer(int thread) const {
    return std::ranges::any_of(viewers_, [&](const auto& viewer) { return viewer->thread() == thread; });
  }
  std::size_t fewest_updates() const {
    std::size_t fewest = viewers_.front()->updates();
    for (const auto& viewer : viewers_) fewest = std::min(fewest, viewer->updates());
    return fewest;
  }

 private:
  web::WatchService service_;
  std::unique_ptr<web::HttpServer> server_;
  std::vector<std::unique_ptr<Viewer>> viewers_;
};

// Of all threads of this process.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Counts the training samples of an endless run, as reported.
class Meter : public RunObserver {
 public:
  void on_start(const RunInfo& info) override {
    // A history as long as that of a long run, before the first step.
    std::ofstream past(info.folder / "progress.jsonl", std::ios::app);
    for (int i = 0; i < kPastReports; ++i)
      past << fmt::format("{{\"step\":{},\"loss\":{:.6g},\"cv\":0.0123456,\"images_per_second\":1234.56}}\n",
                          (i + 1) / (kPastReports + 1.0), 2.0 / (i + 1));
  }
  void on_progress(const Progress& progress) override {
    const MutexLock lock(mutex_);
    last_.images += progress.train.count;
    last_.processor = processor_seconds();
    last_.at = WatchClock::now();
    ++last_.reports;
  }
  void on_evaluation(const Evaluation& /*evaluation*/) override {}

  struct Reading {
    std::int64_t images = 0;
    int reports = 0;
    double processor = 0;
    WatchClock::time_point at = {};
  };
  // At the last report.
  Reading read() const {
    const MutexLock lock(mutex_);
    return last_;
  }

 private:
  mutable Mutex mutex_;
  Reading last_ VECHE_GUARDED_BY(mutex_);
};

// A run in its own thread that lasts as long as this object.
class EndlessRun {
 public:
  explicit EndlessRun(const fs::path& runs) : folder_(runs / "watched") {
    Config config = Config::from_text(R"(
      [model]
      name = "resnet20"
      [data]
      name = "synthetic"
      samples = 4000
      test_samples = 36
      batch = 32
      shape = [3, 32, 32]
      [strategy]
      name = "consensus"
      [optimizer]
      name = "sgd"
      lr = 0.01
      [run]
      name = "watched"
      steps = 1000000000
      eval_every = 1000000000
      checkpoint_every = 1000000000
    )");
    config.set("run.out=\"" + runs.string() + "\"");
    request_.settings = config.resolve();
    request_.observer = &meter_;
    request_.interrupted = &stopped_;
    thread_ = std::thread([this] {
      try {
        run_training(request_);
      } catch (...) {
        failure_ = std::current_exception();
      }
      ended_ = true;
    });
  }
  ~EndlessRun() {
    stopped_ = true;
    thread_.join();
  }
  EndlessRun(const EndlessRun&) = delete;
  EndlessRun& operator=(const EndlessRun&) = delete;

  // Waits for this many further reports.
  Meter::Reading after(int reports) const {
    const int wanted = meter_.read().reports + reports;
    while (meter_.read().reports < wanted) {
      if (ended_) {
        if (failure_) std::rethrow_exception(failure_);
        throw RunError("bench watch: the run has ended by itself");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return meter_.read();
  }
  struct Rates {
    double images = 0;
    std::array<double, 2> rates;    // images per second between two reports, and per CPU second
    std::map<int, double> threads;  // CPU seconds of each thread in that time
  };
  Rates rates(int reports) const {
    const Meter::Reading from = after(1);
    const std::map<int, double> before = thread_seconds();
    const Meter::Reading to = after(reports);
    Rates result{static_cast<double>(to.images - from.images), {}, thread_seconds()};
    for (auto& [thread, seconds] : result.threads)
      if (const auto known = before.find(thread); known != before.end()) seconds -= known->second;
    result.rates = {result.images / std::chrono::duration<double>(to.at - from.at).count(),
                    result.images / (to.processor - from.processor)};
    return result;
  }
  const fs::path& folder() const { return folder_; }

 private:
  Meter meter_;
  const fs::path folder_;
  TrainingRequest request_;
  std::atomic<bool> stopped_ = false, ended_ = false;
  std::exception_ptr failure_;  // valid once ended_
  std::thread thread_;
};

}  // namespace

std::vector<BenchCase> bench_watch(const BenchOptions& options) {
  const TemporaryRuns runs;
  const EndlessRun run(runs.path());
  run.after(options.quick ? 1 : 8);
  // short and often (a second), since the machine's speed changes from second to second
  const int reports = 2;
  std::size_t fewest = ~std::size_t{0};
  Rounds own(1);
  const auto alone = [&] { return run.rates(reports).rates; };
  const auto watched = [&] {
    const std::map<int, double> before = thread_seconds();
    const Watched page(run.folder());
    std::this_thread::sleep_for(kSettle);
    const auto measured = run.rates(reports);
    fewest = std::min(fewest, page.fewest_updates());
    // Threads created with the page that are not viewers serve it.
    double training = 0, serving = 0;
    for (const auto& [thread, seconds] : measured.threads)
      if (!page.is_viewer(thread)) (before.contains(thread) ? training : serving) += seconds;
    own.ours(measured.images / (training + serving));
    own.theirs(0, measured.images / training);
    return measured.rates;
  };
  std::array<Rounds, 2> rounds{Rounds(1), Rounds(1)};
  for (int round = 0; round < (options.quick ? 1 : 3 * options.rounds); ++round) {
    // Alternating order, so that a machine that slows down favours neither side.
    const auto first = watched(), second = alone(), third = alone(), fourth = watched();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      rounds[i].ours((first[i] + fourth[i]) / 2);
      rounds[i].theirs(0, (second[i] + third[i]) / 2);
    }
  }
  if (fewest == 0) throw RunError("bench watch: a viewer has not heard of the run");
  const std::string name = fmt::format("resnet20 batch 32, 4 nodes, {} viewers", kViewers);
  std::vector<BenchCase> cases{
      rounds[0].result(0, name, "images/s", "nobody watches", kPromisedWhenWatched),
      // Other programs take time from both sides equally, but no CPU time from either.
      rounds[1].result(0, name + ", by processor time", "images/s", "nobody watches", kPromisedWhenWatched),
      // Not a difference of two runs, so that a loss of a thousandth is visible.
      own.result(0, name + ", by the page's own processor time", "images/s", "the training's threads alone",
                 kPromisedWhenWatched)};
  for (BenchCase& result : cases)
    result.note = fmt::format("in turn, {} reports of one run each; each viewer fetched {} updates or more",
                              reports, fewest);
  return cases;
}

}  // namespace veche
