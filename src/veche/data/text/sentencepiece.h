#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "veche/data/text/tokenizer.h"
#include "veche/errors.h"

namespace veche {

// The tokenizer "sentencepiece", by the library of that name. It is in the module
// veche_sentencepiece.

// `model`: the content of a model file. Throws RequestError.
std::shared_ptr<const Tokenizer> load_sentencepiece(const std::string& model);

// A vocabulary cannot be learnt: what the library says.
class LearningFailed : public Error {
 public:
  using Error::Error;
};

// Gives the next part of the text to learn from, ending between two characters; false: there is no
// more.
using NextText = std::function<bool(std::string& text)>;
// Learns a vocabulary of byte pairs from the text and returns the content of the model file. The
// text comes back from the ids exactly; a line feed is a symbol of its own. The same text gives the
// same model everywhere. Throws LearningFailed if the text cannot fill the vocabulary, or has more
// characters than fit; RequestError if the module is missing.
std::string train_sentencepiece(int vocabulary, const NextText& next);

// The symbols of the module. `why` is filled where they fail.
extern "C" const Tokenizer* veche_load_sentencepiece(const std::string& model, std::string& why);
extern "C" void veche_train_sentencepiece(int vocabulary, const NextText& next, std::string& model,
                                          std::string& why);

}  // namespace veche
