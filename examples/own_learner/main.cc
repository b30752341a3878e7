// A model of one's own: linear regression on measurements that each of four sites keeps to itself.
// The sites see different parts of the line y = 3 x - 2, agree by consensus on a ring, and end with
// the same line.
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "veche/veche.h"

namespace {

constexpr int kMeasurements = 50;

class Line : public veche::Learner {
 public:
  explicit Line(veche::NodeId site) {
    veche::RandomStream random(7, "measurements", static_cast<std::uint64_t>(site.value));
    for (int i = 0; i < kMeasurements; ++i) {
      const double x = (site.value + random.uniform()) / 2 - 1;  // this site's part of [-1, 1]
      points_.push_back({x, 3 * x - 2 + 0.01 * random.normal()});
    }
  }

  std::span<float> parameters() override { return parameters_; }
  std::span<float> gradients() override { return gradients_; }
  std::span<float> buffers() override { return {}; }

  veche::Score compute_gradient(const veche::Batch& batch) override {
    gradients_ = {};
    for (const Point& point : points_) {
      gradients_[0] += static_cast<float>(error(point) * point.x / kMeasurements);
      gradients_[1] += static_cast<float>(error(point) / kMeasurements);
    }
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
  std::array<float, 2> parameters_{}, gradients_{};
};

}  // namespace

int main() try {
  veche::register_model({.name = "line", .needs_data = false, .make = [](const veche::ModelSpec& spec) {
                           return std::make_unique<Line>(spec.node);
                         }});
  veche::Config config;
  for (const char* key : {"model.name=line", "run.steps=600", "cluster.nodes=4", "topology.graph=ring",
                          "optimizer.name=sgd", "optimizer.lr=0.2", "optimizer.schedule=cosine"})
    config.set(key);
  veche::Run run(config, {.keep = false});
  for (const std::vector<float>& line : run.wait().parameters)
    std::printf("y = %.3f x %+.3f\n", line[0], line[1]);
  return 0;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_learner: %s\n", error.what());
  return 1;
}
