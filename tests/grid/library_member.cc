// A member of a grid that knows only the public interface, with a model and a strategy of its own:
// 1/2 (x - MINIMUM)^2, and the mean of all models after every step. Passes are slow until "go"
// comes on standard input, so that a test can do what it likes before the run ends.
//   library_member MINIMUM found KEY=VALUE...
//   library_member MINIMUM join INVITATION KEY=VALUE...
//   library_member MINIMUM resume FOLDER KEY=VALUE...
// `keep=false` among the keys: leaves no folder. "stop" on standard input calls Run::stop.
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "veche/veche.h"

namespace {

std::atomic<bool> slow = true;

class Site : public veche::Learner {
 public:
  explicit Site(float minimum) : minimum_(minimum) {}
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return gradient_; }
  std::span<float> buffers() override { return {}; }
  veche::Score compute_gradient(const veche::Batch& batch) override {
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gradient_[0] = x_[0] - minimum_;
    return evaluate(batch);
  }
  veche::Score evaluate(const veche::Batch&) override { return {.loss_sum = 0, .correct = 0, .count = 1}; }
  std::vector<veche::TensorLayout> parameter_layout() const override { return {{"x", {1}, {1}, 0}}; }
  std::vector<veche::TensorLayout> buffer_layout() const override { return {}; }

 private:
  const float minimum_;
  std::array<float, 1> x_{}, gradient_{};
};

class MeanOfAll : public veche::Strategy {
 public:
  explicit MeanOfAll(veche::StrategyContext context) : context_(std::move(context)) {}
  void after_step(std::uint64_t /*step*/) override {
    const std::span<float> x = context_.learner.parameters();
    veche::all_reduce(context_.channel, x);
    for (float& value : x) value /= static_cast<float>(context_.channel.size());
  }

 private:
  veche::StrategyContext context_;
};

void register_own(float minimum) {
  veche::register_model({.name = "site", .needs_data = false, .make = [minimum](const veche::ModelSpec&) {
                           return std::make_unique<Site>(minimum);
                         }});
  veche::StrategyInfo info;
  info.name = "mean-of-all";
  info.rule = "x_i <- mean of all x";
  info.make = [](veche::StrategyContext context) { return std::make_unique<MeanOfAll>(std::move(context)); };
  veche::register_strategy(info);
}

int take_part(const std::vector<std::string>& words) {
  register_own(std::stof(words.at(0)));
  const std::string& how = words.at(1);
  veche::RunOptions options;
  options.grid.emplace();
  options.grid->on_invitation = [](const std::string& invitation) { std::cout << invitation << std::endl; };
  options.on_notice = [](const std::string& sentence) { std::cout << sentence << std::endl; };
  if (how == "join") options.grid->invitation = words.at(2);
  if (how == "resume") options.resume = words.at(2);
  veche::Config config;
  for (std::size_t i = how == "found" ? 2 : 3; i < words.size(); ++i) {
    if (words[i] == "keep=false")
      options.keep = false;
    else
      config.set(words[i]);
  }
  veche::Run run(config, options);
  run.start();
  std::thread([&run] {
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "go") slow = false;
      if (line == "stop") run.stop();
    }
  }).detach();
  const veche::RunResult result = run.wait();
  std::cout << "ended " << to_string(result.last.stopped) << " at " << result.last.step << " with "
            << result.parameters.front().front() << (result.others_continue ? ", others continue" : "")
            << (result.info.folder.empty() ? "" : " in " + result.info.folder.string()) << std::endl;
  std::_Exit(0);  // the thread above still waits for a line
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return take_part({argv + 1, argv + argc});
  } catch (const veche::RequestError& error) {
    std::cout << "refused: " << error.what() << std::endl;
    return 2;
  } catch (const veche::Error& error) {
    std::cout << "failed: " << error.what() << std::endl;
    return 1;
  }
}
