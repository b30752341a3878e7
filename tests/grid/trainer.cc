// A member of a grid that trains a small model at a pace of its own: each pass takes so many
// seconds, whatever the machine does besides. Prints when each pass began and of which step it was,
// and what people are told.
//   trainer found FOLDER SECONDS KEY=VALUE...                first prints an invitation
//   trainer join FOLDER SECONDS INVITATION KEY=VALUE...      all until their input is closed
//   trainer found-later ..., trainer join-later ...          print "linked" when they can be
//                                                            reached; continue after a line
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "examples/own_strategy/circle_gossip.h"
#include "veche/comm/grid/grid.h"
#include "veche/errors.h"
#include "veche/runtime/run/grid_training.h"

namespace {

using namespace veche;

std::atomic<bool> stopping = false;

void print(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

double now() { return Time(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// 1/2 |x - 1|^2, in its own time.
class PacedLearner : public Learner {
 public:
  explicit PacedLearner(double seconds) : seconds_(seconds), x_(1000), g_(1000) {}
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& batch) override {
    print("pass " + std::to_string(batch.step) + " " + std::to_string(now()));
    std::this_thread::sleep_for(seconds_);  // is what computing is here
    for (std::size_t i = 0; i < x_.size(); ++i) g_[i] = x_[i] - 1;
    return {0, 0, 1};
  }
  Score evaluate(const Batch& /*batch*/) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  const std::chrono::duration<double> seconds_;
  std::vector<float> x_, g_;
};

class Printed : public RunObserver {
 public:
  void on_progress(const Progress& progress) override {
    if (member != nullptr) member->report(progress.step, 1, 0);
  }
  void on_evaluation(const Evaluation& /*evaluation*/) override {}
  void on_notice(const std::string& sentence) override { print(sentence); }
  grid::Grid* member = nullptr;
};

int run(const std::vector<std::string>& words) {
  const bool founds = words.at(0).starts_with("found");
  Config config = Config::from_text(
      "[model]\nname = \"quadratic\"\n[optimizer]\nname = \"sgd\"\nlr = 0.01\n[run]\nsteps = 1000000\n");
  for (std::size_t i = founds ? 3 : 4; i < words.size(); ++i) config.set(words[i]);
  config.set("cluster.nodes=1");
  const std::filesystem::path place = words.at(1);
  config.set("run.out=" + place.parent_path().string());
  config.set("run.name=" + place.filename().string());
  Printed printed;
  const double seconds = std::stod(words.at(2));
  GridTraining training({.settings = config.resolve(),
                         .observer = &printed,
                         .interrupted = &stopping,
                         .learner = [&](NodeId) -> std::unique_ptr<Learner> {
                           return std::make_unique<PacedLearner>(seconds);
                         }});
  std::optional<RunFolder> folder;  // of those that the tests look into
  if (words.at(0).ends_with("-later")) folder.emplace(RunFolder::create(config.resolve()));
  grid::GridOptions options;
  options.folder = place;
  options.listen = "127.0.0.1:0";
  options.name = std::filesystem::path(words.at(1)).filename();
  options.multicast = false;
  options.interrupted = &stopping;
  options.say = print;
  const std::unique_ptr<grid::Grid> member =
      founds ? grid::found(options, "the configuration") : grid::join(options, words.at(3));
  if (founds) print(member->invite({}));
  printed.member = member.get();
  if (words.at(0).ends_with("-later")) {
    while (!founds && member->donors().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    print("linked");
    std::string line;
    std::getline(std::cin, line);
  }
  std::thread([] {
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    stopping = true;
  }).detach();
  const RunResult result = training.run(
      *member, founds ? GridTraining::As::founder : GridTraining::As::newcomer, folder ? &*folder : nullptr);
  printed.member = nullptr;
  print("left at " + std::to_string(result.last.step) + " with " +
        std::to_string(result.parameters.front().front()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    veche::register_strategy(circle_gossip());
    return run({argv + 1, argv + argc});
  } catch (const veche::Error& error) {
    std::cerr << error.what() << std::endl;
    return dynamic_cast<const veche::RequestError*>(&error) != nullptr ? 2 : 1;
  }
}
