// zoo DIR: gives every network of torchvision's that is in the zoo the same random weights and images that
// DIR then tells, and writes what came out: log-probabilities of every class outside training, and for some a
// gradient and the buffers after a step. The form of the folder is parity.cc's.
#include "veche/model/zoo.h"

#include <cmath>
#include <iostream>

#include "tests/parity/folder.h"
#include "veche/base/random.h"

namespace veche {
namespace {

using nlohmann::json;

constexpr int kClasses = 5;
constexpr std::size_t kImages = 2;  // whose log-probabilities are compared
constexpr std::size_t kBatch = 8;   // of the gradient

struct Case {
  std::string model;
  int side;
  std::string stem;
  std::string norm;  // empty: the model's own
  bool gradient;
};

const Case kCases[] = {
    {"resnet18", 64, "large", "", true},
    {"resnet18", 32, "small", "group:8", true},
    {"resnet34", 64, "large", "", false},
    {"resnet50", 64, "large", "", false},
    {"wide_resnet50_2", 64, "large", "", false},
    {"mobilenet_v3_small", 64, "large", "", true},
    {"mobilenet_v3_small", 32, "small", "", false},
    {"mobilenet_v3_large", 64, "large", "", false},
    {"shufflenet_v2_x1_0", 64, "large", "", false},
    {"shufflenet_v2_x1_0", 32, "small", "", false},
    {"squeezenet1_0", 64, "large", "", false},
    {"squeezenet1_1", 64, "large", "", false},
    {"efficientnet_v2_s", 64, "large", "", false},
    {"convnext_tiny", 64, "large", "", false},
    {"convnext_tiny", 32, "small", "", true},
    {"vit_tiny", 32, "small", "", true},
    {"wrn-10-2", 32, "auto", "", true},
};

// Numbers of a size that lets every layer be seen in the result: what networks start from would hide some
// behind factors of zero, and larger ones grow from block to block until rounding decides.
void randomise(const std::vector<TensorLayout>& layout, std::span<float> flat, double norm_weight,
               RandomStream& stream) {
  for (const TensorLayout& tensor : layout) {
    double middle = 0, spread = 0.1;
    const auto outputs = static_cast<std::size_t>(tensor.shape.front());
    const double inputs = static_cast<double>(size_of(tensor)) / static_cast<double>(outputs);
    if (tensor.name.ends_with("running_var")) {
      middle = 1;
    } else if (tensor.name.ends_with("layer_scale") || (inputs == 1 && tensor.name.ends_with("weight"))) {
      middle = norm_weight;
    } else if (outputs > 1 && inputs > 1) {
      spread = std::sqrt(2 / inputs);
    }
    std::vector<float> values(size_of(tensor));
    for (float& value : values) value = static_cast<float>(middle + spread * stream.normal());
    scatter(tensor, values, flat);
  }
}

// log p of every class: the learner tells the loss of a label.
std::vector<float> log_probabilities(Learner& learner, std::span<const float> image, const Shape& shape) {
  std::vector<float> result;
  for (std::int64_t label = 0; label < kClasses; ++label)
    result.push_back(static_cast<float>(-learner.evaluate({image, std::span(&label, 1), shape, 0}).loss_sum));
  return result;
}

json run(Folder& folder, const Case& c, std::size_t number) {
  ModelSpec spec;
  spec.name = c.model;
  spec.input = {3, c.side, c.side};
  spec.classes = kClasses;
  if (c.stem != "auto") spec.options.set("stem", Value{c.stem});
  if (!c.norm.empty()) spec.options.set("norm", Value{c.norm});
  for (const char* key : {"dropout", "stochastic_depth"}) spec.options.set(key, Value{0.0});
  const auto learner = make_learner(spec);
  RandomStream stream(6, "zoo", number);
  const double norm_weight = c.model.starts_with("efficientnet") ? 0.85 : 1;  // the deepest has the smallest
  randomise(learner->parameter_layout(), learner->parameters(), norm_weight, stream);
  randomise(learner->buffer_layout(), learner->buffers(), norm_weight, stream);
  std::vector<float> images(kBatch * spec.input.size());
  for (float& pixel : images) pixel = static_cast<float>(stream.normal());
  std::vector<std::int64_t> labels(kBatch);
  for (std::int64_t& label : labels) label = static_cast<std::int64_t>(stream.below(kClasses));

  const std::string prefix = std::to_string(number) + ".";
  json result{
      {"model", c.model}, {"side", c.side}, {"stem", c.stem}, {"norm", c.norm}, {"classes", kClasses}};
  result["weights"] = folder.write_tensors(prefix, learner->parameter_layout(), learner->parameters());
  result["buffers"] = folder.write_tensors(prefix, learner->buffer_layout(), learner->buffers());
  result["images"] = folder.write(prefix + "images", channels_first(images, spec.input));
  result["labels"] = folder.write(prefix + "labels", labels);
  for (std::size_t i = 0; i < kImages; ++i)
    result["outputs"].push_back(log_probabilities(
        *learner, std::span(images).subspan(i * spec.input.size(), spec.input.size()), spec.input));
  if (c.gradient) {
    result["loss"] = learner->compute_gradient({images, labels, spec.input, 0}).loss();
    result["gradients"] =
        folder.write_tensors(prefix + "gradient.", learner->parameter_layout(), learner->gradients());
    result["buffers_after"] =
        folder.write_tensors(prefix + "after.", learner->buffer_layout(), learner->buffers());
  }
  return result;
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: zoo DIR\n";
    return 2;
  }
  try {
    veche::Folder folder{argv[1]};
    nlohmann::json index = nlohmann::json::array();
    for (const veche::Case& c : veche::kCases) index.push_back(veche::run(folder, c, index.size()));
    folder.write_index(index);
  } catch (const std::exception& error) {
    std::cerr << "zoo: " << error.what() << '\n';
    return 1;
  }
}
