// A learner of one's own: linear regression on measurements that each of four sites keeps to itself. The
// sites see different parts of the line y = 3 x - 2, agree by consensus on a ring, and end with the same
// line.
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "veche/veche.h"

namespace {

constexpr double kSlope = 3;
constexpr double kOffset = -2;
constexpr int kMeasurements = 50;

class Line : public veche::Learner {
 public:
  explicit Line(veche::NodeId site) {
    veche::RandomStream random(7, "measurements", static_cast<std::uint64_t>(site.value));
    for (int i = 0; i < kMeasurements; ++i) {
      const double x = (site.value + random.uniform()) / 2 - 1;  // this site's part of [-1, 1]
      points_.push_back({x, kSlope * x + kOffset + 0.01 * random.normal()});
    }
  }

  std::span<float> parameters() override { return parameters_; }
  std::span<float> gradients() override { return gradients_; }
  std::span<float> buffers() override { return {}; }

  veche::Score compute_gradient(const veche::Batch& batch) override {
    double slope = 0;
    double offset = 0;
    for (const Point& point : points_) {
      slope += error(point) * point.x / kMeasurements;
      offset += error(point) / kMeasurements;
    }
    gradients_ = {static_cast<float>(slope), static_cast<float>(offset)};
    return evaluate(batch);
  }

  veche::Score evaluate(const veche::Batch&) override {
    double loss = 0;
    for (const Point& point : points_) loss += error(point) * error(point) / 2;
    return {.loss_sum = loss, .correct = 0, .count = kMeasurements};
  }

  std::vector<veche::TensorLayout> parameter_layout() const override {
    return {{"slope", {1}, {1}, 0}, {"offset", {1}, {1}, 1}};
  }
  std::vector<veche::TensorLayout> buffer_layout() const override { return {}; }

 private:
  struct Point {
    double x, y;
  };
  double error(const Point& point) const { return parameters_[0] * point.x + parameters_[1] - point.y; }

  std::vector<Point> points_;
  std::array<float, 2> parameters_{};
  std::array<float, 2> gradients_{};
};

}  // namespace

int main() try {
  veche::Config config;
  config.set("run.steps=600");
  config.set("cluster.nodes=4");
  config.set("topology.graph=ring");
  config.set("strategy.name=consensus");
  config.set("optimizer.name=sgd");
  config.set("optimizer.lr=0.2");
  config.set("optimizer.schedule=cosine");

  veche::TrainingRequest request;
  request.settings = config.resolve(veche::Config::Model::own_learner);
  request.learner = [](veche::NodeId site) { return std::make_unique<Line>(site); };
  request.keep = false;  // no run folder
  const veche::TrainingResult result = veche::run_training(request);

  bool learned = true;
  for (const std::vector<float>& line : result.parameters) {
    std::printf("y = %.3f x %+.3f\n", line[0], line[1]);
    learned = learned && std::abs(line[0] - kSlope) < 0.05 && std::abs(line[1] - kOffset) < 0.05;
  }
  if (!learned) std::fprintf(stderr, "own_learner: the sites did not find y = %g x %+g\n", kSlope, kOffset);
  return learned ? 0 : 1;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_learner: %s\n", error.what());
  return 1;
}
