// A thousand nodes in one process: the memory of each, and that they compute the same as alone.
#include <gtest/gtest.h>

#include <fstream>

#include "veche/model/zoo.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

// Resets the peak memory of this process (proc(5), clear_refs).
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

Settings settings(const std::vector<std::string>& assignments) {
  Config config;
  for (const char* key : {"data.name=synthetic", "data.samples=4000", "data.test_samples=40", "data.batch=1"})
    config.set(key);
  for (const std::string& assignment : assignments) config.set(assignment);
  return config.resolve();
}

RunResult train(std::vector<std::string> assignments) {
  for (const char* key : {"model.name=mlp", "model.hidden=[32]"}) assignments.emplace_back(key);
  TrainingRequest request;
  request.settings = settings(assignments);
  request.low_memory = true;
  request.keep = false;
  return run_training(request);
}

double tested(const RunResult& result) { return summary(result)["accuracy"]["tested"].get<double>(); }

// Four vectors: Adam's two, the parameters and the copy sent to neighbours. Only the few computing
// nodes hold gradients, averages and copies; stacks, layers and batches are small.
TEST(Crowd, ANodeHoldsFourVectors) {
  forget_peak_memory();
  const RunResult few = train({"topology.graph=torus:10x20", "run.steps=4", "run.eval_every=2"});
  const double peak_of_few = peak_bytes();
  forget_peak_memory();
  const RunResult many = train({"topology.graph=torus:25x40", "run.steps=4", "run.eval_every=2"});
  const double vector = sizeof(float) * static_cast<double>(many.info.parameters);
  const double each = (peak_bytes() - peak_of_few) / (1000 - 200);
  // Measured: 535 to 580 kB, of which 407 are the vectors. A fifth vector would be another 102.
  EXPECT_LT(each, 4 * vector + 192 * 1024);
  EXPECT_EQ(many.last.nodes.size(), 1000U);
  EXPECT_EQ(many.parameters.size(), 1000U);
  EXPECT_EQ(many.parameters.front().size(), many.info.parameters);
}

TEST(Crowd, OfVeryManyNodesSomeAreTestedAtTheEnd) {
  const auto steps = "run.steps=2";
  EXPECT_EQ(tested(train({"topology.graph=ring:64", steps})), 64);
  EXPECT_EQ(tested(train({"topology.graph=ring:70", steps})), 64);
  EXPECT_EQ(tested(train({"topology.graph=ring:70", steps, "run.eval=sample:3"})), 3);
  EXPECT_EQ(tested(train({"topology.graph=ring:70", steps, "run.eval=all"})), 70);
}

// A learner created alone, so that it shares nothing and keeps its memory.
class Loner : public Learner {
 public:
  explicit Loner(const ModelSpec& spec) : learner_(make_learner(spec)) {}
  std::span<float> parameters() override { return learner_->parameters(); }
  std::span<float> gradients() override { return learner_->gradients(); }
  std::span<float> buffers() override { return learner_->buffers(); }
  Score compute_gradient(const Batch& batch) override { return learner_->compute_gradient(batch); }
  Score evaluate(const Batch& batch) override { return learner_->evaluate(batch); }
  std::vector<TensorLayout> parameter_layout() const override { return learner_->parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return learner_->buffer_layout(); }

 private:
  const std::unique_ptr<Learner> learner_;
};

// Sharing plans and releasing memory change no bit.
TEST(Crowd, ComputesWhatLonersWould) {
  TrainingRequest request;
  request.settings = settings({"model.name=lenet5", "cluster.nodes=130", "topology.graph=torus:10x13",
                               "run.steps=3", "run.eval_every=2"});
  request.keep = false;
  request.low_memory = true;
  const RunResult crowd = run_training(request);
  request.learner = [&](NodeId node) {
    ModelSpec spec;
    spec.name = "lenet5";
    spec.settings = request.settings.model;
    spec.seed = request.settings.seed();
    spec.node = node;
    spec.nodes = 130;
    spec.input = {1, 28, 28};
    return std::make_unique<Loner>(spec);
  };
  const RunResult loners = run_training(request);
  EXPECT_EQ(crowd.parameters, loners.parameters);
  EXPECT_EQ(crowd.last.cv, loners.last.cv);
  EXPECT_EQ(crowd.last.average_model.loss_sum, loners.last.average_model.loss_sum);
}

}  // namespace
}  // namespace veche
