#include "veche/model/torch/learner/gpt_generation.h"

#include <algorithm>

#include "veche/errors.h"
#include "veche/model/torch/kernels/attention.h"
#include "veche/model/torch/kernels/token_kernels.h"
#include "veche/model/torch/layers/product.h"
#include "veche/model/torch/library/threads.h"

namespace veche::torch_model {
namespace {

constexpr std::int64_t kVector = 16;    // floats; the cache holds whole vectors
constexpr std::int64_t kTogether = 64;  // tokens of a prompt at a time

std::int64_t padded(std::int64_t count) { return (count + kVector - 1) / kVector * kVector; }
float* at_row(std::vector<float>& rows, std::int64_t row, std::int64_t width) {
  return rows.data() + row * width;
}

// The forward pass of a few tokens at a time, without libtorch's tensors between the layers.
class GptGeneration : public Generation {
 public:
  explicit GptGeneration(std::shared_ptr<const Gpt> network)
      : network_(std::move(network)),
        size_(network_->size()),
        symbols_(network_->tokens().size(0)),
        room_(padded(size_.context)),
        head_(size_.width / size_.heads),
        keys_(static_cast<std::size_t>(size_.layers * room_ * size_.width)),
        values_(static_cast<std::size_t>(size_.layers * size_.heads * room_ * padded(head_))),
        work_(static_cast<std::size_t>(room_ + padded(head_))),
        logits_(static_cast<std::size_t>(symbols_)) {}

  int vocabulary() const override { return static_cast<int>(symbols_); }
  int context() const override { return size_.context; }
  int seen() const override { return static_cast<int>(text_.size()); }
  void clear() override { text_.clear(); }

  std::span<const float> feed(std::span<const std::int32_t> tokens) override {
    if (tokens.empty()) throw RequestError("a text to continue needs at least one token");
    for (const std::int32_t token : tokens)
      if (token < 0 || token >= symbols_)
        throw RequestError("there is no token " + std::to_string(token) + " in a vocabulary of " +
                           std::to_string(symbols_));
    use_one_thread();
    while (!tokens.empty()) {
      if (seen() == size_.context) forget_the_older_half();
      const auto some = std::min(tokens.size(), static_cast<std::size_t>(size_.context - seen()));
      append(tokens.first(some));
      tokens = tokens.subspan(some);
    }
    return logits_;
  }

 private:
  // Positions are learned, so the tokens that stay are computed again at their new positions.
  void forget_the_older_half() {
    const std::vector<std::int32_t> kept(text_.end() - size_.context / 2, text_.end());
    text_.clear();
    if (!kept.empty()) append(kept);
  }

  void append(std::span<const std::int32_t> tokens) {
    for (std::size_t from = 0; from < tokens.size(); from += kTogether)
      append_few(tokens.subspan(from, std::min<std::size_t>(kTogether, tokens.size() - from)));
  }

  void append_few(std::span<const std::int32_t> tokens) {
    const auto rows = static_cast<std::int64_t>(tokens.size());
    const std::int64_t width = size_.width, before = seen();
    for (std::vector<float>* each : {&x_, &normal_, &seen_})
      each->resize(static_cast<std::size_t>(rows * width));
    wide_.resize(static_cast<std::size_t>(4 * rows * width));
    const float* const table = network_->tokens().data_ptr<float>();
    const float* const positions = network_->positions().data_ptr<float>();
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c)
        x_[static_cast<std::size_t>(r * width + c)] =
            table[tokens[static_cast<std::size_t>(r)] * width + c] + positions[(before + r) * width + c];
    for (std::size_t i = 0; i < network_->blocks().size(); ++i)
      run(*network_->blocks()[i], static_cast<std::int64_t>(i), rows, before);
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    normalise(network_->last_norm(), at_row(x_, rows - 1, width), 1);
    product({normal_.data(), width}, {network_->output().data_ptr<float>(), width, true}, logits_.data(), 1,
            width, symbols_);
  }

  void run(const GptBlock& block, std::int64_t number, std::int64_t rows, std::int64_t before) {
    const std::int64_t width = size_.width;
    normalise(*block.ln_1, x_.data(), rows);
    apply(*block.qkv, normal_, wide_, rows, false);
    const AttentionCache cache{.keys = keys_.data() + number * room_ * width,
                               .values = values_.data() + number * size_.heads * room_ * padded(head_),
                               .room = room_,
                               .value_row = padded(head_)};
    for (std::int64_t r = 0; r < rows; ++r)
      attention_step(size_.heads, head_, cache, before + r, at_row(wide_, r, 3 * width),
                     at_row(seen_, r, width), work_.data());
    apply(*block.out, seen_, x_, rows, true);
    normalise(*block.ln_2, x_.data(), rows);
    apply(*block.up, normal_, wide_, rows, false);
    gelu(wide_.data(), 4 * rows * width, wide_.data());
    apply(*block.down, wide_, x_, rows, true);
  }

  void normalise(const TokenNorm& norm, const float* x, std::int64_t rows) {
    mean_.resize(static_cast<std::size_t>(2 * rows));
    token_norm(x, rows, size_.width, norm.weight.data_ptr<float>(),
               norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr,
               static_cast<float>(TokenNorm::kEpsilon), normal_.data(), mean_.data(), mean_.data() + rows);
  }

  static void apply(const Projection& layer, const std::vector<float>& x, std::vector<float>& y,
                    std::int64_t rows, bool add) {
    const std::int64_t in = layer.weight.size(0), out = layer.weight.size(1);
    const bool biased = layer.bias.defined();
    if (biased) {
      const float* const bias = layer.bias.data_ptr<float>();
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < out; ++c) {
          float& to = y[static_cast<std::size_t>(r * out + c)];
          to = (add ? to : 0) + bias[c];
        }
    }
    product({x.data(), in}, {layer.weight.data_ptr<float>(), out}, y.data(), rows, in, out, add || biased);
  }

  const std::shared_ptr<const Gpt> network_;
  const GptSize size_;
  const std::int64_t symbols_;
  const std::int64_t room_;         // positions of the cache
  const std::int64_t head_;         // width of a head
  std::vector<std::int32_t> text_;  // what the model sees
  std::vector<float> keys_, values_;
  std::vector<float> work_;
  std::vector<float> x_, normal_, seen_, wide_, mean_;  // of the tokens being added
  std::vector<float> logits_;
};

}  // namespace

std::unique_ptr<Generation> make_gpt_generation(std::shared_ptr<const Gpt> network) {
  return std::make_unique<GptGeneration>(std::move(network));
}

}  // namespace veche::torch_model
