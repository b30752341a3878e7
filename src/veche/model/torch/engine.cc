#include "veche/model/engine.h"

#include <algorithm>

#include "veche/base/module_api.h"
#include "veche/errors.h"
#include "veche/model/torch/export/operator_graph.h"
#include "veche/model/torch/import/imported.h"
#include "veche/model/torch/layers/folded_convs.h"
#include "veche/model/torch/learner/cost.h"
#include "veche/model/torch/learner/learner.h"
#include "veche/model/torch/learner/stage.h"
#include "veche/model/torch/library/allocator.h"
#include "veche/model/torch/library/threads.h"
#include "veche/model/torch/zoo/models.h"

namespace veche::torch_model {
namespace {

// Everything runs on the calling thread: OpenMP would start as many threads as the environment
// requests, and OMP_NUM_THREADS=100000 would end the program.
class TorchEngine : public ModelEngine {
 public:
  std::unique_ptr<Learner> make_learner(const ModelSpec& spec, Learner* like) const override {
    use_one_thread();
    return std::make_unique<TorchLearner>(make_network(spec), spec, plans_, like);
  }

  std::unique_ptr<Stage> make_stage(const ModelSpec& spec, const StageSpec& stage,
                                    Learner* like) const override {
    use_one_thread();
    return std::make_unique<TorchStage>(make_network(spec, false), spec, stage, plans_, like);
  }

  std::vector<BlockDescription> describe_blocks(const ModelSpec& spec) const override {
    use_one_thread();
    return describe_links(*make_network(spec, false), spec);
  }

  ModelDescription describe(const ModelSpec& spec) const override {
    use_one_thread();
    const std::shared_ptr<Network> network = make_network(spec);
    const bool channels_last = network->channels_last();
    return {lay_out(trained_tensors(network->module()), channels_last),
            lay_out(other_tensors(network->module()), channels_last), multiply_adds(*network, spec)};
  }

  OperatorGraph operators(const ModelSpec& spec, std::span<const float> parameters,
                          std::span<const float> buffers) const override {
    use_one_thread();
    const std::shared_ptr<Network> network = make_network(spec);
    const Flat flat(network->module(), network->channels_last());
    if (parameters.size() != flat.parameters().size() || buffers.size() != flat.buffers().size())
      throw RequestError("model.name: '" + spec.name + "' has other tensors than the ones to write");
    std::ranges::copy(parameters, flat.parameters().begin());
    std::ranges::copy(buffers, flat.buffers().begin());
    return operator_graph(*network, spec);
  }

 private:
  const std::shared_ptr<ConvPlans> plans_ = std::make_shared<ConvPlans>();  // shared by all learners
};

}  // namespace
}  // namespace veche::torch_model

extern "C" VECHE_MODULE_API veche::ModelEngine* veche_model_engine() {
  veche::torch_model::install_allocator();
  return new veche::torch_model::TorchEngine;
}

// Used by veche/torch.h.
extern "C" VECHE_MODULE_API veche::Learner* veche_torch_learner(
    std::shared_ptr<torch::nn::Module> module, std::function<at::Tensor(const at::Tensor&)> forward,
    const veche::ModelSpec& spec) {
  using namespace veche::torch_model;
  install_allocator();
  use_one_thread();
  const auto network = wrap(std::move(module), std::move(forward));
  check_output(*network, spec, "the module");
  return new TorchLearner(network, spec, std::make_shared<ConvPlans>());
}
