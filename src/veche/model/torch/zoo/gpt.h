#pragma once

#include <memory>
#include <vector>

#include "veche/model/gpt_size.h"
#include "veche/model/torch/layers/gpt_block.h"
#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// The transformer of GPT-2 (Radford et al. 2019), with its names of tensors: tokens (N, length) to
// the logits of the token after each of them.
class Gpt : public Network {
 public:
  Gpt(const GptSize& size, int symbols, double dropout);
  void initialise(std::uint64_t seed) override;
  bool channels_last() const override { return false; }
  at::Tensor shared_rows() const override { return size_.tied ? wte_ : at::Tensor(); }

  const GptSize& size() const { return size_; }
  const at::Tensor& tokens() const { return wte_; }     // (symbols, width)
  const at::Tensor& positions() const { return wpe_; }  // (context, width)
  const at::Tensor& output() const { return size_.tied ? wte_ : head_; }
  const std::vector<std::shared_ptr<GptBlock>>& blocks() const { return blocks_; }
  const TokenNorm& last_norm() const { return *ln_; }

 private:
  const GptSize size_;
  const double dropout_;
  at::Tensor wte_, wpe_, head_;  // the last is undefined if tied
  std::vector<std::shared_ptr<GptBlock>> blocks_;
  std::shared_ptr<TokenNorm> ln_;
};

}  // namespace veche::torch_model
