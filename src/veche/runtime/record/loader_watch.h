#pragma once

#include <functional>
#include <string>

#include "veche/data/feed/prefetcher.h"
#include "veche/train/loop/observer.h"

namespace veche {

// Passes everything on to the next observer. Gives one notice where the nodes of this process spend
// a large part of the time waiting for batches: training is then limited by the preparation of
// samples.
class LoaderWatch final : public Observer {
 public:
  struct Watched {
    const Prefetcher& prefetcher;
    std::size_t loaders = 1;
    std::function<Time()> now;
  };
  LoaderWatch(Observer& next, Watched watched, std::function<void(const std::string& sentence)> notice);

  void on_progress(const Progress& progress) override;
  void on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) override {
    next_.on_nodes(step, nodes);
  }
  void on_measuring() override { next_.on_measuring(); }
  void on_testing(double part) override { next_.on_testing(part); }
  void on_evaluation(const Evaluation& evaluation) override { next_.on_evaluation(evaluation); }

 private:
  Observer& next_;
  const Watched watched_;
  const std::function<void(const std::string&)> notice_;
  const Time start_;
  bool reported_ = false;
};

}  // namespace veche
