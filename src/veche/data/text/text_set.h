#pragma once

#include <memory>
#include <vector>

#include "veche/data/text/token_file.h"
#include "veche/dataset.h"

namespace veche {

// Windows of a text: sample k has the context + 1 tokens from k * context on, so that every token
// but the first is the target of one sample. Less than a window at the end is left out. In training
// each window of each epoch begins up to `context` tokens later. Several texts, each of a site,
// follow each other; no window reaches from one into the next.
class TextSet final : public Dataset, public TokenSamples {
 public:
  // A part of a file of tokens, and how many characters it stands for.
  struct Part {
    std::shared_ptr<const TokenFile> file;
    std::uint64_t first = 0, count = 0, characters = 0;
  };
  // All parts have the same tokenizer.
  TextSet(std::vector<Part> parts, int context);

  std::size_t size() const override { return ends_.back(); }
  Shape shape() const override { return {context_, 1, 1}; }
  int classes() const override { return parts_.front().file->tokenizer()->size(); }
  std::int64_t label(std::size_t) const override { return 0; }
  void read(std::size_t index, std::span<float> out) const override;
  const TokenSamples* tokens() const override { return this; }

  void read_tokens(std::size_t index, std::span<std::int32_t> out) const override;
  void read_moved(std::size_t index, double by, std::span<std::int32_t> out) const override;
  double characters_per_token() const override;

  std::size_t windows(std::size_t part) const { return ends_[part] - (part == 0 ? 0 : ends_[part - 1]); }

 private:
  const std::vector<Part> parts_;
  const int context_;
  std::vector<std::size_t> ends_;  // of the windows of each part
};

// The training and the test windows of packed texts. Throws RequestError if one is shorter than a
// window; `names` are for the sentence.
struct TextSets {
  std::shared_ptr<const TextSet> train, test;
};
TextSets make_text_sets(const std::vector<std::shared_ptr<const TokenFile>>& files,
                        const std::vector<std::string>& names, int context);

}  // namespace veche
