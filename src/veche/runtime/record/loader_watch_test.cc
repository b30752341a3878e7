#include "veche/runtime/record/loader_watch.h"

#include <gtest/gtest.h>

#include "veche/data/feed/prefetch_queue.h"

namespace veche {
namespace {

class Counting final : public Observer {
 public:
  void on_progress(const Progress&) override { ++progress; }
  void on_measuring() override { ++measuring; }
  void on_testing(double part) override { tested = part; }
  void on_evaluation(const Evaluation&) override { ++evaluations; }
  int progress = 0, measuring = 0, evaluations = 0;
  double tested = 0;
};

struct Scene {
  Prefetcher prefetcher{2};
  Counting next;
  double now = 100;
  std::vector<std::string> told;
  LoaderWatch watch{next,
                    {.prefetcher = prefetcher, .loaders = 2, .now = [this] { return Time(now); }},
                    [this](const std::string& sentence) { told.push_back(sentence); }};

  void pass(double seconds, double waited) {
    now += seconds;
    prefetcher.queue()->seconds_waited += waited;
    watch.on_progress({});
  }
};

TEST(LoaderWatch, TellsOnceThatBatchesAreLate) {
  Scene scene;
  scene.pass(4, 8);  // too early to tell
  EXPECT_TRUE(scene.told.empty());
  scene.pass(4, 0);  // two loaders have waited 8 of 16 seconds
  scene.pass(4, 8);
  ASSERT_EQ(scene.told.size(), 1u);
  EXPECT_EQ(
      scene.told[0],
      "nodes wait for their batches 50 % of the time: raise data.workers (now 2), or let images be decoded "
      "once and for all with `veche data pack --decode`");
  EXPECT_EQ(scene.next.progress, 3);
}

TEST(LoaderWatch, IsSilentWhileBatchesAreReady) {
  Scene scene;
  for (int i = 0; i < 100; ++i) scene.pass(1, 0.3);  // 15 %
  scene.watch.on_measuring();
  scene.watch.on_testing(0.5);
  scene.watch.on_evaluation({});
  EXPECT_TRUE(scene.told.empty());
  EXPECT_EQ(scene.next.measuring + scene.next.evaluations, 2);
  EXPECT_EQ(scene.next.tested, 0.5);
}

}  // namespace
}  // namespace veche
