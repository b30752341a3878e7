#include "veche/model/torch/learner/stage.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <stdexcept>

#include "veche/errors.h"
#include "veche/model/torch/layers/folded_convs.h"
#include "veche/model/torch/layers/placeholder.h"
#include "veche/model/torch/learner/cost.h"
#include "veche/model/torch/learner/explained.h"
#include "veche/model/torch/learner/outcomes.h"
#include "veche/model/torch/learner/tensor_message.h"
#include "veche/model/torch/library/threads.h"

namespace veche::torch_model {
namespace {

bool holds(const Link& link, const std::string& tensor) {
  return std::ranges::any_of(
      link.holds, [&](const std::string& name) { return tensor == name || tensor.starts_with(name + "."); });
}

std::string title_of(const ModelSpec& spec) {
  return spec.settings.file ? "model.file: '" + *spec.settings.file + "'" : "model.name: '" + spec.name + "'";
}

// The link that owns each tensor. Every tensor must belong to a link, in the order of the links, so
// that the stages' vectors concatenate to the whole vector.
std::vector<std::size_t> owners(const Network& network, const Named& tensors, const ModelSpec& spec) {
  const auto& links = network.links();
  std::vector<std::size_t> all;
  for (const auto& item : tensors) {
    const auto owner = std::ranges::find_if(links, [&](const Link& link) { return holds(link, item.key()); });
    const auto index = static_cast<std::size_t>(owner - links.begin());
    if (owner == links.end() || (!all.empty() && index < all.back()))
      throw RequestError(title_of(spec) + " cannot be cut into stages: its tensor '" + item.key() +
                         "' is not where the order of its blocks has it");
    all.push_back(index);
  }
  return all;
}

void require_chain(const Network& network, const ModelSpec& spec) {
  if (network.links().empty())
    throw RequestError(title_of(spec) + " cannot be cut into stages: " + network.why_not_chain());
}

// Tensors of other links become placeholders: only their sizes are used, by the initialiser.
torch::nn::Module& cut_out(Network& network, const ModelSpec& spec, const StageSpec& stage) {
  require_chain(network, spec);
  at::NoGradGuard guard;
  for (const bool trained : {true, false}) {
    const Named tensors = trained ? trained_tensors(network.module()) : other_tensors(network.module());
    const std::vector<std::size_t> owner = owners(network, tensors, spec);
    std::size_t i = 0;
    for (auto item : tensors) {
      const int link = static_cast<int>(owner[i++]);
      if (link < stage.from || link >= stage.to) item.value().set_data(placeholder(item.value().sizes()));
    }
  }
  return network.module();
}

std::size_t floats_of(const Named& tensors, const Link& link) {
  std::size_t count = 0;
  for (const auto& item : tensors)
    if (holds(link, item.key())) count += static_cast<std::size_t>(item.value().numel());
  return count;
}

}  // namespace

TorchStage::TorchStage(std::shared_ptr<Network> network, const ModelSpec& spec, const StageSpec& stage,
                       std::shared_ptr<ConvPlans> plans, Learner* like)
    : network_(std::move(network)),
      plans_(std::move(plans)),
      stage_(stage),
      input_(spec.input),
      loss_(spec),
      seed_(spec.seed),
      node_(spec.node),
      threads_(std::max(1, spec.settings.threads)),
      computes_(where_to_compute(spec)),
      flat_(cut_out(*network_, spec, stage), network_->channels_last()),
      report_(flat_.gradients().data()) {
  if (like != nullptr) {
    std::ranges::copy(like->parameters(), flat_.parameters().begin());
    std::ranges::copy(like->buffers(), flat_.buffers().begin());
  } else {
    network_->initialise(spec.seed);
  }
  if (computes_.on_copies)
    throw RequestError("model.device: stages compute on the processor; leave the key out");
  for (const auto& module : network_->modules()) {
    if (auto* layer = dynamic_cast<Layer*>(module.get())) layer->report = &report_;
    if (auto* conv = dynamic_cast<Conv*>(module.get())) {
      conv->plans = plans_;
      convs_.push_back(conv);
    }
  }
  plain_.emplace(network_->module(), report_);
}

TorchStage::SavedPass TorchStage::take_in(const StageInput& input) const {
  SavedPass saved;
  if (first()) {
    loss_.check_inputs(input.batch);
    saved.input = loss_.inputs(input.batch);
  } else {
    saved.input = to_tensor(input.activation);
  }
  if (last()) {
    loss_.check_targets(input.batch);
    saved.targets = loss_.targets(input.batch);
  }
  return saved;
}

// Weights that the first and the last link share are parameters of the first stage. They travel as
// further rows of the activation, and their gradient comes back with that of the activation.
at::Tensor TorchStage::through(const at::Tensor& input, const std::function<Pass(int)>& make_pass) const {
  at::Tensor x = input, shared = network_->shared_rows();
  const bool travel = shared.defined() && !(first() && last());
  if (travel && !first()) {
    const std::int64_t rows = shared.size(0), width = shared.size(1);
    const auto length = static_cast<std::int64_t>(input_.size());
    if (x.dim() != 2 || x.size(1) != width || x.size(0) < rows || (x.size(0) - rows) % length != 0)
      throw DamagedActivation("a tensor that does not have the shape of a text's activation");
    shared = x.narrow(0, x.size(0) - rows, rows);
    x = x.narrow(0, 0, x.size(0) - rows).view({-1, length, width});
  }
  for (int i = stage_.from; i < stage_.to; ++i) {
    Pass pass = make_pass(i);
    pass.shared_rows = shared;
    x = network_->links()[static_cast<std::size_t>(i)].forward(x, pass);
  }
  return travel && !last() ? at::cat({x.flatten(0, -2), shared}) : x;
}

at::Tensor TorchStage::run(const MicroBatch& part, SavedPass& saved, Score* score_of_part) const {
  const std::uint64_t of_step =
      RandomStream(seed_, "dropout of parts", static_cast<std::uint64_t>(node_.value), part.step).next();
  const at::Tensor x = through(saved.input, [&](int link) -> Pass {
    return {true, RandomStream(of_step, "block", static_cast<std::uint64_t>(part.index),
                               static_cast<std::uint64_t>(link))};
  });
  if (!last()) return x;
  const TaskLoss::Targets& targets = saved.targets;
  if (const std::int64_t rows = loss_.rows(x); rows != targets.labels.numel())
    throw RunError("there are " + std::to_string(targets.labels.numel()) + " targets for " +
                   std::to_string(rows) + " outputs of what the stage before has sent");
  const at::Tensor loss = loss_.sum(x, targets, true);
  if (score_of_part != nullptr)
    *score_of_part += loss_.score(x, targets, loss.detach() / std::max(targets.weight, 1e-30));
  return loss /
         (part.weight > 0 ? part.weight : static_cast<double>(part.whole * loss_.targets_per_sample()));
}

void TorchStage::fix_parameters(bool rest) {
  report_.parameters_fixed = rest;
  for (Conv* conv : convs_) conv->forget();
}

Message TorchStage::forward(const MicroBatch& part, const StageInput& input, MessagePool& pool) {
  use_threads(threads_);
  const MemoryAccount::Charging charging(memory_);
  return explained([&] {
    if (part.index == 0) {
      saved_.clear();
      back_ = 0;
      plain_->zero();
      fix_parameters(part.count > 1);
    }
    report_.unfinished = true;  // some layers have a gradient during the forward pass of each micro-batch
    SavedPass saved = take_in(input);
    saved.charge = memory_.charge(input.activation.size());
    at::Tensor output;
    if (stage_.recompute) {
      const at::NoGradGuard guard;
      output = run(part, saved, &score_);
    } else {
      if (!first()) saved.input.requires_grad_();
      output = saved.output = run(part, saved, &score_);
    }
    saved_.insert_or_assign(part.index, std::move(saved));
    return last() ? Message{} : to_message(output, pool);
  });
}

Message TorchStage::backward(const MicroBatch& part, const Message& gradient, MessagePool& pool) {
  use_threads(threads_);
  const MemoryAccount::Charging charging(memory_);
  return explained([&] {
    const auto found = saved_.find(part.index);
    if (found == saved_.end())
      throw std::logic_error("backward pass of a micro-batch without a forward pass");
    SavedPass saved = std::move(found->second);
    saved_.erase(found);
    if (stage_.recompute) {
      // Only the statistics of the first pass count.
      const std::vector<float> buffers(flat_.buffers().begin(), flat_.buffers().end());
      if (!first()) saved.input.requires_grad_();
      saved.output = run(part, saved, nullptr);
      std::ranges::copy(buffers, flat_.buffers().begin());
    }
    report_.adds = back_ > 0;
    report_.unfinished = ++back_ < part.count;
    if (last())
      saved.output.backward();
    else
      torch::autograd::backward({saved.output}, {to_tensor(gradient)});
    if (!report_.unfinished) fix_parameters(false);
    return first() ? Message{} : to_message(saved.input.grad(), pool);
  });
}

Message TorchStage::test(const StageInput& input, MessagePool& pool, Score& score_of_all,
                         std::span<Outcome> outcomes) {
  use_threads(threads_);
  return explained([&] {
    const at::NoGradGuard guard;
    FoldedConvs folded(*plans_);
    SavedPass saved = take_in(input);
    // A block may overwrite its input.
    const at::Tensor x = through(first() ? saved.input : saved.input.clone(), [&](int) -> Pass {
      return {false, RandomStream(seed_, "dropout"), &folded};
    });
    if (!last()) return to_message(x, pool);
    score_of_all += loss_.score(x, saved.targets, loss_.mean(x, saved.targets, false));
    if (!outcomes.empty()) tell_outcomes(x, saved.targets.labels, outcomes);
    return Message{};
  });
}

Score TorchStage::compute_gradient(const Batch& batch) {
  if (!first() || !last()) throw std::logic_error("a stage alone has no loss");
  MessagePool pool;
  const MicroBatch whole{.step = batch.step, .whole = batch.size()};
  forward(whole, {.batch = batch}, pool);
  backward(whole, {}, pool);
  return take_score();
}

Score TorchStage::evaluate(const Batch& batch) {
  if (!first() || !last()) throw std::logic_error("a stage alone has no loss");
  MessagePool pool;
  Score all;
  test({.batch = batch}, pool, all, {});
  return all;
}

std::vector<BlockDescription> describe_links(Network& network, const ModelSpec& spec) {
  require_chain(network, spec);
  const Named trained = trained_tensors(network.module()), others = other_tensors(network.module());
  owners(network, trained, spec);
  owners(network, others, spec);
  const std::vector<LinkCost> costs = link_costs(network, spec);
  std::vector<BlockDescription> all;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Link& link = network.links()[i];
    all.push_back({link.name, floats_of(trained, link), floats_of(others, link), costs[i].multiply_adds,
                   costs[i].output});
  }
  return all;
}

}  // namespace veche::torch_model
