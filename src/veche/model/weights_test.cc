#include "veche/model/weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// A channels-last kernel, a bias, and a buffer.
class Small : public Learner {
 public:
  std::span<float> parameters() override { return parameters_; }
  std::span<float> gradients() override { return parameters_; }
  std::span<float> buffers() override { return buffers_; }
  Score compute_gradient(const Batch&) override { return {}; }
  Score evaluate(const Batch&) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override {
    return {{"conv.weight", {1, 2, 1, 2}, {4, 1, 4, 2}, 0}, {"conv.bias", {1}, {1}, 4}};
  }
  std::vector<TensorLayout> buffer_layout() const override {
    return {{"bn.running_mean", {1}, {1}, 0}, {"bn.num_batches_tracked", {}, {}, 1}};
  }

 private:
  std::vector<float> parameters_ = {0, 0, 0, 0, 0};
  std::vector<float> buffers_ = {0, 9};
};

class Weights : public testing::Test {
 protected:
  ~Weights() override { fs::remove(file_); }

  void write(SafetensorsWriter& writer) {
    std::ofstream out(file_, std::ios::binary);
    for (const auto part : writer.parts())
      out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
  std::string refusal(SafetensorsWriter& writer) {
    write(writer);
    try {
      load_weights(learner_, file_);
    } catch (const RequestError& error) {
      EXPECT_EQ(learner_.parameters()[4], 0) << "nothing is changed by a file that does not fit";
      return error.what();
    }
    return "";
  }
  static SafetensorsWriter without_kernel() {
    SafetensorsWriter writer;
    writer.add("conv.bias", {1}, {5});
    writer.add("bn.running_mean", {1}, {6});
    return writer;
  }

  const fs::path file_ = fs::temp_directory_path() / ("veche-weights-" + std::to_string(getpid()));
  Small learner_;
};

TEST_F(Weights, AreTakenInPlainOrder) {
  SafetensorsWriter writer = without_kernel();
  writer.add("conv.weight", {1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(refusal(writer), "");
  EXPECT_EQ(std::vector(learner_.parameters().begin(), learner_.parameters().end()),
            (std::vector<float>{1, 3, 2, 4, 5}));
  EXPECT_EQ(std::vector(learner_.buffers().begin(), learner_.buffers().end()), (std::vector<float>{6, 9}));
}

TEST_F(Weights, ComeBackAsTheyWere) {
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5}, learner_.parameters().begin());
  SafetensorsWriter writer;
  add_tensors(writer, learner_.parameter_layout(), learner_.parameters());
  add_tensors(writer, learner_.buffer_layout(), learner_.buffers());
  write(writer);
  Small other;
  load_weights(other, file_);
  EXPECT_TRUE(std::ranges::equal(other.parameters(), learner_.parameters()));
}

TEST_F(Weights, NameTheTensorThatDoesNotFit) {
  SafetensorsWriter missing = without_kernel();
  EXPECT_NE(refusal(missing).find("no tensor 'conv.weight'"), std::string::npos);
  SafetensorsWriter misspelt = without_kernel();
  misspelt.add("conv.weights", {1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_NE(refusal(misspelt).find("the nearest is 'conv.weights'"), std::string::npos);
  SafetensorsWriter turned = without_kernel();
  turned.add("conv.weight", {2, 1, 2}, {1, 2, 3, 4});
  EXPECT_NE(refusal(turned).find("'conv.weight' of shape [2, 1, 2], the model needs [1, 2, 1, 2]"),
            std::string::npos);
  SafetensorsWriter more = without_kernel();
  more.add("conv.weight", {1, 2, 1, 2}, {1, 2, 3, 4});
  more.add("fc.weight", {1}, {1});
  EXPECT_NE(refusal(more).find("'fc.weight', which the model does not have"), std::string::npos);
  fs::remove(file_);
  EXPECT_THROW(load_weights(learner_, file_), RequestError);
}

}  // namespace
}  // namespace veche
