#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/data/sets/damage.h"
#include "veche/data/text/token_file.h"
#include "veche/data/text/tokenizer.h"

namespace veche {

// Texts to pack into tokens, each of its own site, with one vocabulary for all.
struct TextRequest {
  std::vector<std::filesystem::path> paths;
  TokenizerSpec tokenizer = {};
  std::shared_ptr<const Tokenizer> agreed = {};  // instead, if the run has one already
  double test_share = 0.1;                       // the end of each file, in characters
  std::filesystem::path test = {};               // instead: a text of its own
  // Where packed texts are kept, to be found again; empty: nowhere.
  std::filesystem::path kept = {};
  DamagePolicy policy = {};
};

// The packed texts, in the order of the paths. A text that is kept already and has not changed is
// only opened; a packed text that is damaged or belongs to a text that has changed is made again. A
// path may be a packed text itself. Throws RequestError.
std::vector<std::shared_ptr<const TokenFile>> pack_texts(const TextRequest& request);

// Packs one text into a file of its own.
void pack_text(const TextRequest& request, const std::filesystem::path& out);

}  // namespace veche
