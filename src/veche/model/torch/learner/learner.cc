#include "veche/model/torch/learner/learner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "veche/base/machine/memory.h"
#include "veche/errors.h"
#include "veche/model/torch/layers/folded_convs.h"
#include "veche/model/torch/learner/batch_tensors.h"
#include "veche/model/torch/learner/chunks.h"
#include "veche/model/torch/library/threads.h"

namespace veche::torch_model {

TorchLearner::TorchLearner(std::shared_ptr<Network> network, const ModelSpec& spec,
                           std::shared_ptr<ConvPlans> plans, Learner* like)
    : network_(std::move(network)),
      plans_(std::move(plans)),
      input_(spec.input),
      classes_(spec.classes),
      label_smoothing_(spec.settings.label_smoothing.value_or(0.0)),
      seed_(spec.seed),
      node_(spec.node),
      threads_(std::max(1, spec.settings.threads)),
      evaluation_threads_(std::max(threads_, spec.evaluation_threads)),
      computes_(where_to_compute(spec)),
      flat_(network_->module(), network_->channels_last()),
      report_(flat_.gradients().data()) {
  if (like != nullptr) {  // drawing the same values a thousand times takes seconds
    std::ranges::copy(like->parameters(), flat_.parameters().begin());
    std::ranges::copy(like->buffers(), flat_.buffers().begin());
  } else {
    network_->initialise(spec.seed);
  }
  if (computes_.on_copies) {
    explained([&] { flat_.move_to_device(network_->module(), computes_.device); });
  } else {
    for (const auto& module : network_->modules()) {
      if (auto* layer = dynamic_cast<Layer*>(module.get())) layer->report = &report_;
      if (auto* conv = dynamic_cast<Conv*>(module.get())) conv->plans = plans_;
    }
  }
  plain_.emplace(network_->module(), report_);
}

void TorchLearner::check(const Batch& batch) const {
  check_images(batch, input_);
  check_labels(batch, classes_);
}

Score TorchLearner::compute_gradient(const Batch& batch) {
  check(batch);
  use_threads(threads_);
  if (std::exchange(rested_, false)) fetch_pages(std::as_writable_bytes(flat_.gradients()));
  Pass pass{true, RandomStream(seed_, "dropout", static_cast<std::uint64_t>(node_.value), batch.step)};
  return explained([&] {
    flat_.copy_to_device();
    plain_->zero();
    const at::Tensor labels = labels_of(batch).to(computes_.device);
    const at::Tensor logits = network_->forward(images_of(batch).to(computes_.device), pass);
    const at::Tensor loss =
        at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, kNoLabelIgnored, label_smoothing_);
    loss.backward();
    flat_.copy_from_device();
    return score(logits, labels, loss);
  });
}

Score TorchLearner::in_chunks(
    const Batch& batch,
    const std::function<Score(const Batch& some, const at::Tensor& logits, std::size_t from)>& use) {
  return explained([&] {
    flat_.copy_to_device();
    FoldedConvs folded(*plans_);
    const bool apart = !computes_.on_copies && network_->independent_samples();
    const std::size_t chunk = apart ? images_per_chunk(input_, batch.size()) : batch.size();
    return score_in_chunks(batch.size(), chunk, evaluation_threads_, [&](std::size_t from, std::size_t to) {
      use_one_thread();
      const at::NoGradGuard guard;
      Pass pass{false, RandomStream(seed_, "dropout"), &folded};
      const Batch some = part_of(batch, from, to);
      return use(some, network_->forward(images_of(some).to(computes_.device), pass), from);
    });
  });
}

Score TorchLearner::evaluate(const Batch& batch) {
  check(batch);
  return in_chunks(batch, [&](const Batch& some, const at::Tensor& logits, std::size_t) {
    const at::Tensor labels = labels_of(some).to(computes_.device);
    return score(logits, labels, at::cross_entropy_loss(logits, labels));
  });
}

void TorchLearner::predict(std::span<const float> images, std::span<float> probabilities) {
  const auto classes = static_cast<std::size_t>(classes_);
  // dummy labels, since a batch needs them
  const std::vector<std::int64_t> labels(probabilities.size() / classes);
  const Batch batch{images, labels, input_};
  if (probabilities.size() % classes != 0) throw std::invalid_argument("there is no room for the answer");
  check(batch);
  in_chunks(batch, [&](const Batch& some, const at::Tensor& logits, std::size_t from) {
    const at::Tensor answer = at::softmax(logits, 1).to(at::kCPU, at::kFloat).contiguous();
    std::copy_n(answer.data_ptr<float>(), some.size() * classes,
                probabilities.begin() + static_cast<std::ptrdiff_t>(from * classes));
    return Score{};
  });
}

// Not with a device: its pages are pinned and must stay.
void TorchLearner::rest() {
  if (computes_.on_copies) return;
  release_pages(std::as_writable_bytes(flat_.gradients()));
  rested_ = true;
}

}  // namespace veche::torch_model
