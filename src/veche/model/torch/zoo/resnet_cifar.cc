#include <algorithm>

#include "veche/model/torch/layers/initialise.h"
#include "veche/model/torch/options.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor zero_images(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return at::empty({n, c, h, w}, at::TensorOptions().memory_format(at::MemoryFormat::ChannelsLast)).zero_();
}

// The option A shortcut at the start of a stage: every second pixel, padded with zero channels on
// both sides.
struct Shortcut : torch::autograd::Function<Shortcut> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, std::int64_t channels) {
    const at::Tensor x = input.contiguous(at::MemoryFormat::ChannelsLast);
    context->saved_data["size"] = x.sizes().vec();
    at::Tensor y = zero_images(x.size(0), channels, (x.size(2) + 1) / 2, (x.size(3) + 1) / 2);
    for_each_pixel(x, y, [&](float* large, float* small) { std::copy_n(large, x.size(1), small); });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const std::vector<std::int64_t> size = context->saved_data["size"].toIntVector();
    at::Tensor dx = zero_images(size[0], size[1], size[2], size[3]);
    for_each_pixel(dx, dy, [&](float* large, float* small) { std::copy_n(small, size[1], large); });
    return {dx, {}};
  }

 private:
  // Visits each kept pixel: its offset in the large images, and the offset of its middle channels
  // in the small ones.
  template <class Visit>
  static void for_each_pixel(const at::Tensor& large, const at::Tensor& small, Visit visit) {
    const std::int64_t width = large.size(3), in = large.size(1), out = small.size(1);
    float* to = small.data_ptr<float>() + (out - in) / 2;
    for (std::int64_t n = 0; n < large.size(0); ++n)
      for (std::int64_t h = 0; h < large.size(2); h += 2) {
        float* row = large.data_ptr<float>() + (n * large.size(2) + h) * width * in;
        for (std::int64_t w = 0; w < width; w += 2, to += out) visit(row + w * in, to);
      }
  }
};

at::Tensor shortcut(const at::Tensor& x, int stride, int channels, bool by_itself) {
  if (stride == 1) return x;
  if (by_itself) return Shortcut::apply(x, std::int64_t{channels});
  const std::int64_t added = channels - x.size(1);
  const at::Tensor pixels = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
  return at::constant_pad_nd(pixels, {0, 0, 0, 0, added / 2, added - added / 2});
}

class CifarResidual : public torch::nn::Module {
 public:
  CifarResidual(int in, int out, int stride, const NormChoice& norm)
      : out_(out),
        stride_(stride),
        conv1_(register_module("conv1", conv_before(norm, {.in = in, .out = out, .stride = stride}))),
        bn1_(register_module("bn1", make_norm(norm, out))),
        conv2_(register_module("conv2", conv_before(norm, {.in = out, .out = out}))),
        bn2_(register_module("bn2", make_norm(norm, out))) {}

  at::Tensor forward(const at::Tensor& x, const Pass& pass) {
    const at::Tensor inner = bn1_->relu_after(*conv1_, x, {}, pass);
    return bn2_->relu_after(*conv2_, inner, shortcut(x, stride_, out_, conv2_->by_itself()), pass);
  }

  Conv& last() { return *conv2_; }

 private:
  const int out_;
  const int stride_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Norm> bn1_;
  const std::shared_ptr<Conv> conv2_;
  const std::shared_ptr<Norm> bn2_;
};

// The residual network of He et al. for CIFAR: 6 n + 2 layers in three stages of 16, 32 and 64
// channels.
class CifarResNet : public Network {
 public:
  CifarResNet(int channels, int classes, int depth, const NormChoice& norm)
      : norm_(norm),
        conv1_(register_module("conv1", conv_before(norm, {.in = channels, .out = 16}))),
        bn1_(register_module("bn1", make_norm(norm, 16))) {
    link("conv1", {"conv1", "bn1"}, [this](const at::Tensor& images, Pass& pass) {
      return bn1_->relu_after(*conv1_, images, {}, pass);
    });
    int in = 16;
    for (int stage = 0; stage < 3; ++stage) {
      const auto layer =
          register_module("layer" + std::to_string(stage + 1), std::make_shared<torch::nn::Module>());
      const int out = 16 << stage;
      for (int b = 0; b < (depth - 2) / 6; ++b) {
        const int stride = stage > 0 && b == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(std::to_string(b),
                                                 std::make_shared<CifarResidual>(in, out, stride, norm)));
        link_block("layer" + std::to_string(stage + 1) + "." + std::to_string(b), blocks_.back());
        in = out;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(64, classes));
    link("fc", {"fc"}, [this](const at::Tensor& x, Pass&) { return fc_->forward(x.mean({2, 3})); });
  }

  void initialise(std::uint64_t seed) override {
    Initialiser init(seed);
    init.fill(*this, {.conv = he_inputs, .linear = he_inputs});
    zero_last_convs(blocks_, norm_, init);
  }

 private:
  const NormChoice norm_;
  const std::shared_ptr<Conv> conv1_;
  const std::shared_ptr<Norm> bn1_;
  std::vector<std::shared_ptr<CifarResidual>> blocks_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

std::shared_ptr<Network> make_cifar_resnet(const ModelSpec& spec, int depth) {
  require_pixels(spec, 4);
  return std::make_shared<CifarResNet>(spec.input.channels, spec.classes, depth, norm_of(spec));
}

}  // namespace veche::torch_model
