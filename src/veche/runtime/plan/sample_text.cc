#include "veche/runtime/plan/sample_text.h"

#include <algorithm>

#include "veche/base/text/utf8.h"
#include "veche/model/generation.h"
#include "veche/runtime/inference/text_writer.h"

namespace veche {
namespace {

constexpr std::size_t kGiven = 8;  // tokens
constexpr int kWritten = 160;

// Without broken characters: tokens may be parts of them.
std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    if (utf8_length(text) > 0) valid += text.substr(0, length);
    text.remove_prefix(length);
  }
  return valid;
}

}  // namespace

std::function<std::string(Learner& learner)> plan_sample(const DataSource& source) {
  if (source.tokenizer == nullptr || source.test == nullptr || source.test->size() == 0) return {};
  std::vector<std::int32_t> given(source.test->shape().size() + 1);
  source.test->tokens()->read_tokens(0, given);
  given.resize(std::min(given.size(), kGiven));
  return [tokenizer = source.tokenizer, given](Learner& learner) -> std::string {
    auto generation = begin_text(learner);
    if (generation == nullptr) return {};
    TextWriter writer(std::move(generation), tokenizer, given, {});
    std::string text;
    for (const std::int32_t token : given) text += tokenizer->decode(token);
    text = valid_utf8(text);
    for (int i = 0; i < kWritten; ++i) text += writer.next();
    return text;
  };
}

}  // namespace veche
