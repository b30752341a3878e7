#include "veche/data/text/sentencepiece.h"

#include <fmt/format.h>

#include "veche/base/module/module.h"
#include "veche/errors.h"

namespace veche {
namespace {

const Module& module() {
  static const Module pieces{"veche_sentencepiece.so", "vocabularies of SentencePiece",
                             "libsentencepiece-dev"};
  return pieces;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_sentencepiece(const std::string& model) {
  std::string why;
  std::shared_ptr<const Tokenizer> tokenizer(
      module_function<decltype(veche_load_sentencepiece)>(module(), "veche_load_sentencepiece")(model, why));
  if (tokenizer == nullptr) throw RequestError(why);
  return tokenizer;
}

std::string train_sentencepiece(int vocabulary, const NextText& next) {
  std::string model, why;
  module_function<decltype(veche_train_sentencepiece)>(module(), "veche_train_sentencepiece")(
      vocabulary, next, model, why);
  if (model.empty()) throw LearningFailed(why);
  return model;
}

}  // namespace veche
