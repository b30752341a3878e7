#include "veche/model/torch/learner/cost.h"

#include <ATen/record_function.h>

#include <map>
#include <string_view>

#include "veche/model/torch/library/threads.h"

namespace veche::torch_model {
namespace {

// Count of the current pass of this thread: libtorch's observers are plain functions without state.
thread_local std::int64_t counted = 0;

struct Operation : at::ObserverContext {
  explicit Operation(std::int64_t multiplications) : per_output(multiplications) {}
  const std::int64_t per_output;
};

// Products per element of the result.
std::int64_t per_output(const at::RecordFunction& call) {
  static const std::map<std::string_view, std::size_t> left_factor = {
      {"aten::mm", 0},    {"aten::bmm", 0},   {"aten::mv", 0},      {"aten::dot", 0},
      {"aten::addmm", 1}, {"aten::addmv", 1}, {"aten::baddbmm", 1},
  };
  const std::string_view name = call.name();
  // libtorch's other convolutions go through the first; the second is Conv's.
  if (name == "aten::convolution" || name == "veche::convolution") {
    const at::Tensor weight = call.inputs()[1].toTensor();
    return weight.numel() / weight.size(0);
  }
  const auto product = left_factor.find(name);
  return product == left_factor.end() ? 0 : call.inputs()[product->second].toTensor().size(-1);
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
  const std::int64_t products = per_output(call);
  return products == 0 ? nullptr : std::make_unique<Operation>(products);
}

void end(const at::RecordFunction& call, at::ObserverContext* operation) {
  if (operation == nullptr || call.outputs().empty()) return;
  counted += static_cast<const Operation*>(operation)->per_output * call.outputs()[0].toTensor().numel();
}

class Observation {
 public:
  Observation()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(begin, end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
    counted = 0;
  }
  ~Observation() { at::removeCallback(handle_); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  const at::CallbackHandle handle_;
};

at::Tensor zero_sample(const ModelSpec& spec) {
  const Shape& input = spec.input;
  if (spec.task == Task::language) return at::zeros({1, input.channels}, at::kLong);
  return at::zeros({1, input.channels, input.height, input.width}).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

std::int64_t multiply_adds(Network& network, const ModelSpec& spec) {
  use_one_thread();
  at::NoGradGuard guard;
  Pass pass{false, RandomStream(0, "cost")};
  const at::Tensor sample = zero_sample(spec);
  const Observation observation;
  network.forward(sample, pass);
  return counted;
}

std::vector<LinkCost> link_costs(Network& network, const ModelSpec& spec) {
  use_one_thread();
  at::NoGradGuard guard;
  Pass pass{false, RandomStream(0, "cost")};
  at::Tensor x = zero_sample(spec);
  std::vector<LinkCost> costs;
  for (const Link& link : network.links()) {
    const Observation observation;
    x = link.forward(x, pass);
    costs.push_back({counted, x.nbytes()});
  }
  return costs;
}

}  // namespace veche::torch_model
