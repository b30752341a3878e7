#include "veche/data/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "veche/base/text/nearest.h"
#include "veche/data/text/characters.h"
#include "veche/data/text/sentencepiece.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::array<std::string_view, 3> kWords{"characters", "bytes", "sentencepiece"};  // of TokenizerKind
constexpr std::string_view kPiecesOf = "sentencepiece:", kTrain = "train:";

class Bytes final : public Tokenizer {
 public:
  int size() const override { return 256; }
  TokenizerKind kind() const override { return TokenizerKind::bytes; }
  std::string content() const override { return {}; }
  std::optional<std::size_t> encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return {};
  }
  std::string decode(std::int32_t id) const override { return {static_cast<char>(id)}; }
};

}  // namespace

std::string word_of(TokenizerKind kind) { return std::string(kWords.at(static_cast<std::size_t>(kind))); }

std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerKind kind, const std::string& content) {
  if (kind == TokenizerKind::bytes) return std::make_shared<Bytes>();
  return kind == TokenizerKind::characters ? make_characters(content) : load_sentencepiece(content);
}

std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& kind, const std::string& content) {
  const auto* const word = std::ranges::find(kWords, kind);
  if (word == kWords.end())
    throw RequestError(fmt::format("the tokenizer '{}' is unknown to this Veche", kind));
  return make_tokenizer(static_cast<TokenizerKind>(word - kWords.begin()), content);
}

std::string packed_tokenizer(const Tokenizer& tokenizer) {
  return word_of(tokenizer.kind()) + "\n" + tokenizer.content();
}

std::shared_ptr<const Tokenizer> unpack_tokenizer(const std::string& packed) {
  const std::size_t end = packed.find('\n');
  if (end == packed.npos) throw RequestError("the tokenizer of the run is damaged");
  return make_tokenizer(packed.substr(0, end), packed.substr(end + 1));
}

bool equal(const Tokenizer& a, const Tokenizer& b) {
  return a.kind() == b.kind() && a.content() == b.content();
}

TokenizerSpec TokenizerSpec::read(const std::string& word) {
  if (word == "characters") return {};
  if (word == "bytes") return {.kind = Kind::bytes, .file = {}};
  if (!word.starts_with(kPiecesOf))
    throw RequestError(
        fmt::format("data.tokenizer = \"{}\" does not exist{}", word, suggestion(word, tokenizer_words())));
  const std::string rest = word.substr(kPiecesOf.size());
  if (!rest.starts_with(kTrain)) {
    if (rest.empty())
      throw RequestError("data.tokenizer = \"sentencepiece:\" needs a model file, or train: and a number");
    return {.kind = Kind::sentencepiece_file, .file = rest};
  }
  TokenizerSpec spec{.kind = Kind::sentencepiece_train, .file = {}};
  const char *const begin = rest.data() + kTrain.size(), *const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(begin, end, spec.vocabulary);
  if (error != std::errc() || stop != end || spec.vocabulary < 1 || spec.vocabulary > kMostSymbols)
    throw RequestError(
        fmt::format("data.tokenizer = \"{}\" needs the number of symbols of the vocabulary, 1 to {}, such as "
                    "sentencepiece:train:1000",
                    word, kMostSymbols));
  return spec;
}

std::vector<std::string> tokenizer_words() {
  return {"characters", "bytes", "sentencepiece:FILE", "sentencepiece:train:VOCAB"};
}

}  // namespace veche
