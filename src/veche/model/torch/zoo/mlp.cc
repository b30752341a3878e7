#include "veche/errors.h"
#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/layers/layers.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// Linear layers with ReLU between them.
class Mlp : public Network {
 public:
  explicit Mlp(const std::vector<std::int64_t>& widths) {
    before_next([](const at::Tensor& images, Pass&) { return images.flatten(1); });
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const std::string name = "fc" + std::to_string(i + 1);
      const auto layer = register_module(name, std::make_shared<Linear>(widths[i], widths[i + 1]));
      const bool last = i + 2 == widths.size();
      link(name, {name}, [layer, last](const at::Tensor& x, Pass&) {
        at::Tensor y = layer->forward(x);
        return last ? y : at::relu_(y);
      });
    }
  }

  void initialise(std::uint64_t seed) override { Initialiser(seed).fill(*this, {}); }
};

}  // namespace

std::shared_ptr<Network> make_mlp(const ModelSpec& spec) {
  std::vector<std::int64_t> widths{static_cast<std::int64_t>(spec.input.size())};
  for (const std::int64_t width : spec.settings.hidden.value_or(std::vector<std::int64_t>{128})) {
    if (width < 1) throw RequestError("model.hidden must hold whole numbers above 0");
    widths.push_back(width);
  }
  widths.push_back(spec.classes);
  return std::make_shared<Mlp>(widths);
}

}  // namespace veche::torch_model
