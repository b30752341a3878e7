#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "veche/data/text/tokenizer.h"
#include "veche/model/generation.h"
#include "veche/runtime/inference/sampler.h"

namespace veche {

// Continues a text, token by token. One thread at a time.
class TextWriter {
 public:
  // Throws RequestError: the prompt is empty or holds a symbol that the vocabulary lacks, or the
  // sampling is wrong.
  TextWriter(std::unique_ptr<Generation> generation, std::shared_ptr<const Tokenizer> tokenizer,
             std::string_view prompt, const Sampling& how);
  // After tokens, of which there is at least one.
  TextWriter(std::unique_ptr<Generation> generation, std::shared_ptr<const Tokenizer> tokenizer,
             std::vector<std::int32_t> tokens, const Sampling& how);

  // Draws one more token. Returns the text that it completes: empty while a character is not whole.
  std::string next();
  // The bytes of a character that stayed incomplete, as U+FFFD; to be called at the end.
  std::string rest();
  std::uint64_t tokens() const { return tokens_; }  // drawn

 private:
  std::unique_ptr<Generation> generation_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Sampler sampler_;
  std::vector<std::int32_t> feed_;  // not seen by the model yet
  std::string bytes_;               // of a character that is not whole
  std::uint64_t tokens_ = 0;
};

}  // namespace veche
