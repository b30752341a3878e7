#include "veche/data/text/sentencepiece.h"

#include <fmt/format.h>

#include "veche/base/module/modules.h"
#include "veche/errors.h"

namespace veche {

std::shared_ptr<const Tokenizer> load_sentencepiece(const std::string& model) {
  std::string why;
  std::shared_ptr<const Tokenizer> tokenizer(module_function<decltype(veche_load_sentencepiece)>(
      modules::kSentencePiece, "veche_load_sentencepiece")(model, why));
  if (tokenizer == nullptr) throw RequestError(why);
  return tokenizer;
}

std::string train_sentencepiece(int vocabulary, const NextText& next) {
  std::string model, why;
  module_function<decltype(veche_train_sentencepiece)>(modules::kSentencePiece, "veche_train_sentencepiece")(
      vocabulary, next, model, why);
  if (model.empty()) throw LearningFailed(why);
  return model;
}

}  // namespace veche
