#pragma once

#include "veche/settings.h"

namespace veche {

// run.eval: a word, or a word and a number. Throws RequestError for any other text.
TestedModels read_tested_models(const std::string& word);
std::string word_of(const TestedModels& tested);

}  // namespace veche
