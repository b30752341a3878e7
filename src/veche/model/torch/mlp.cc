#include "veche/errors.h"
#include "veche/model/torch/initialise.h"
#include "veche/model/torch/layers.h"
#include "veche/model/torch/models.h"

namespace veche::torch_model {
namespace {

// Linear layers with ReLU between them.
class Mlp : public Network {
 public:
  explicit Mlp(const std::vector<std::int64_t>& widths) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i)
      layers_.push_back(
          register_module("fc" + std::to_string(i + 1), std::make_shared<Linear>(widths[i], widths[i + 1])));
  }

  at::Tensor forward(const at::Tensor& images, Pass&) override {
    at::Tensor x = images.flatten(1);
    for (const auto& layer : layers_) {
      x = layer->forward(x);
      if (layer != layers_.back()) x = at::relu_(x);
    }
    return x;
  }

  void initialise(std::uint64_t seed) override { Initialiser(seed).fill(*this, {}); }

 private:
  std::vector<std::shared_ptr<Linear>> layers_;
};

}  // namespace

std::shared_ptr<Network> make_mlp(const ModelSpec& spec) {
  std::vector<std::int64_t> widths{static_cast<std::int64_t>(spec.input.size())};
  for (const std::int64_t width : spec.options.get<std::vector<std::int64_t>>("hidden", {128})) {
    if (width < 1) throw RequestError("model.hidden must hold whole numbers above 0");
    widths.push_back(width);
  }
  widths.push_back(spec.classes);
  return std::make_shared<Mlp>(widths);
}

}  // namespace veche::torch_model
