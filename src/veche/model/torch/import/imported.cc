#include "veche/model/torch/import/imported.h"

#include "veche/errors.h"
#include "veche/model/torch/learner/flat.h"
#include "veche/model/torch/library/random.h"

namespace veche::torch_model {
namespace {

class Wrapped : public Network {
 public:
  Wrapped(std::shared_ptr<torch::nn::Module> module, std::function<at::Tensor(const at::Tensor&)> forward)
      : module_(std::move(module)), forward_(std::move(forward)) {}

  at::Tensor forward(const at::Tensor& images, Pass& pass) override {
    if (module_->is_training() != pass.training) module_->train(pass.training);
    const RepeatableRandom random(pass.dropout.next());
    return forward_(plain_order(images));
  }
  void initialise(std::uint64_t) override {}
  torch::nn::Module& module() override { return *module_; }
  bool channels_last() const override { return false; }
  bool independent_samples() const override { return false; }  // unknown

 private:
  const std::shared_ptr<torch::nn::Module> module_;
  const std::function<at::Tensor(const at::Tensor&)> forward_;
};

}  // namespace

std::shared_ptr<Network> wrap(std::shared_ptr<torch::nn::Module> module,
                              std::function<at::Tensor(const at::Tensor&)> forward) {
  return std::make_shared<Wrapped>(std::move(module), std::move(forward));
}

at::Tensor plain_order(const at::Tensor& images) {
  const std::int64_t c = images.size(1), h = images.size(2), w = images.size(3);
  return images.contiguous().as_strided(images.sizes(), {c * h * w, h * w, w, 1});
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return text;
  const std::size_t before = text.rfind('\n', end);
  return text.substr(before == std::string::npos ? 0 : before + 1, end - before);
}

void check_output(Network& network, const ModelSpec& spec, const std::string& who) {
  if (trained_tensors(network.module()).is_empty())
    throw RequestError(
        who +
        " has no parameters to train: none requires a gradient; call requires_grad_(True) on the "
        "module before it is saved or handed over");
  constexpr std::int64_t kImages = 2;
  const std::string given = std::to_string(spec.input.channels) + "x" + std::to_string(spec.input.height) +
                            "x" + std::to_string(spec.input.width);
  at::Tensor logits;
  try {
    const at::AutoGradMode with_gradients(true);
    Pass pass{false, RandomStream(0, "check")};
    logits =
        network.forward(at::zeros({kImages, spec.input.channels, spec.input.height, spec.input.width}), pass);
  } catch (const RequestError&) {
    throw;
  } catch (const RunError& error) {  // already names the module
    throw RequestError(error.what() + (", given images of " + given));
  } catch (const c10::Error& error) {
    throw RequestError(who + " cannot take images of " + given + ": " +
                       last_line(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw RequestError(who + " cannot take images of " + given + ": " + last_line(error.what()));
  }
  if (!logits.defined() || logits.dim() != 2 || logits.size(0) != kImages || logits.size(1) != spec.classes ||
      logits.scalar_type() != at::kFloat)
    throw RequestError(who + " must turn N images into N x " + std::to_string(spec.classes) +
                       " floats, one for each class; " + std::to_string(kImages) + " images of " + given +
                       " gave " + (logits.defined() ? c10::str(logits.sizes()) : "nothing"));
  if (!logits.requires_grad())
    throw RequestError(who +
                       " cannot be trained: no gradient leads from its output to its parameters; leave out "
                       "detach() and torch.no_grad() in forward");
}

}  // namespace veche::torch_model
