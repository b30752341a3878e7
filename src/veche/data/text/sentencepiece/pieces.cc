// The module veche_sentencepiece: a vocabulary of subwords that is applied.
#include <sentencepiece_processor.h>

#include <charconv>

#include "veche/base/module_api.h"
#include "veche/data/text/sentencepiece.h"

namespace veche {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // how pieces write a space

class Pieces final : public Tokenizer {
 public:
  bool load(const std::string& model) {
    model_ = model;
    return processor_.LoadFromSerializedProto(model).ok() && processor_.GetPieceSize() <= kMostSymbols;
  }

  int size() const override { return processor_.GetPieceSize(); }
  TokenizerKind kind() const override { return TokenizerKind::sentencepiece; }
  std::string content() const override { return model_; }

  // A character that the vocabulary lacks becomes its unknown symbol, or bytes.
  std::optional<std::size_t> encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    std::vector<int> found;
    if (!processor_.Encode(text, &found).ok()) return 0;
    ids.insert(ids.end(), found.begin(), found.end());
    return {};
  }

  std::string decode(std::int32_t id) const override {
    if (processor_.IsControl(id) || processor_.IsUnused(id)) return {};
    if (processor_.IsUnknown(id)) return "\xef\xbf\xbd";  // U+FFFD
    const std::string& piece = processor_.IdToPiece(id);
    if (processor_.IsByte(id)) return byte_of(piece);
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
      const bool space = piece.compare(at, kSpace.size(), kSpace) == 0;
      text += space ? ' ' : piece[at];
      at += space ? kSpace.size() : 1;
    }
    return text;
  }

 private:
  // "<0x0A>"
  static std::string byte_of(const std::string& piece) {
    unsigned byte = 0;
    std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    return {static_cast<char>(byte)};
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API const veche::Tokenizer* veche_load_sentencepiece(const std::string& model,
                                                                             std::string& why) {
  auto pieces = std::make_unique<veche::Pieces>();
  if (pieces->load(model)) return pieces.release();
  why = "it is no model of SentencePiece, or a damaged one";
  return nullptr;
}
