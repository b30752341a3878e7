// A network of one's own: a torch::nn::Module with batch norm and dropout, trained by four nodes on
// a ring, each with its own part of the data set.
#include <cstdio>

#include "veche/torch.h"
#include "veche/veche.h"

namespace {

class Net : public torch::nn::Module {
 public:
  Net()
      : conv_(register_module("conv",
                              torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, /*kernel=*/3).padding(1)))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(8))),
        drop_(register_module("drop", torch::nn::Dropout(0.1))),
        out_(register_module("out", torch::nn::Linear(8 * 4 * 4, 10))) {}

  at::Tensor forward(const at::Tensor& images) {
    const at::Tensor x = torch::max_pool2d(torch::relu(norm_(conv_(images))), 2);
    return out_(drop_(x.view({x.size(0), -1})));
  }

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d norm_;
  torch::nn::Dropout drop_;
  torch::nn::Linear out_;
};

}  // namespace

int main() try {
  veche::register_model({.name = "net", .make = [](const veche::ModelSpec& spec) {
                           torch::manual_seed(1);  // every node starts from the same weights
                           return veche::make_torch_learner(std::make_shared<Net>(), spec);
                         }});
  veche::Config config;
  for (const char* key :
       {"model.name=net", "data.name=synthetic", "data.shape=[1, 8, 8]", "run.epochs=5", "cluster.nodes=4",
        "topology.graph=ring", "optimizer.name=sgd", "optimizer.momentum=0.9"})
    config.set(key);
  veche::Run run(config, {.keep = false});
  const veche::RunResult result = run.wait();

  const double accuracy = result.last.average_model.accuracy();
  std::printf("%zu parameters on %d nodes: accuracy %.3f, nodes differ by %.3f %%\n", result.info.parameters,
              result.info.nodes, accuracy, 100 * result.last.cv);
  return accuracy > 0.5 ? 0 : 1;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_network: %s\n", error.what());
  return 1;
}
