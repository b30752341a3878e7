#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace veche {

enum class TokenizerKind { characters, bytes, sentencepiece };
// The kind's word in files and messages.
std::string word_of(TokenizerKind kind);

// Turns text into token ids and back. Immutable; any thread may call it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int size() const = 0;  // symbols of the vocabulary: ids are 0 .. size() - 1
  virtual TokenizerKind kind() const = 0;
  // By kind: the symbols one after the other, nothing, or the model file of SentencePiece.
  virtual std::string content() const = 0;

  // Appends the ids of the text. Returns the offset of the first byte that belongs to no symbol of
  // the vocabulary: nothing from there on is appended. nullopt: all is encoded. Characters are not
  // divided: a text may be encoded in pieces that end between two lines.
  virtual std::optional<std::size_t> encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  // The bytes of a token. They may be a part of a character.
  virtual std::string decode(std::int32_t id) const = 0;
};

// Throws RequestError: damaged content, an unknown word of a kind, or the library is missing.
std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerKind kind, const std::string& content);
std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& kind, const std::string& content);

// Both as one text, for what keeps or sends a tokenizer, and back.
std::string packed_tokenizer(const Tokenizer& tokenizer);
std::shared_ptr<const Tokenizer> unpack_tokenizer(const std::string& packed);

// Equal tokenizers give equal ids.
bool equal(const Tokenizer& a, const Tokenizer& b);

// The key data.tokenizer.
struct TokenizerSpec {
  enum class Kind { characters, bytes, sentencepiece_file, sentencepiece_train };
  Kind kind = Kind::characters;
  std::string file;    // sentencepiece:FILE
  int vocabulary = 0;  // sentencepiece:train:VOCAB

  // Throws RequestError with the nearest valid choice.
  static TokenizerSpec read(const std::string& word);
};
std::vector<std::string> tokenizer_words();

constexpr int kMostSymbols = 1'000'000;  // of a vocabulary

}  // namespace veche
