// The module veche_sentencepiece: a vocabulary of subwords that is learnt.
#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include "veche/base/module_api.h"
#include "veche/base/text/utf8.h"
#include "veche/data/text/sentencepiece.h"

namespace veche {
namespace {

constexpr std::size_t kLongestLine = 4000;  // the library leaves out lines of more bytes than 4192
// From here on there is room for a symbol for each byte, so that no character is unknown.
constexpr int kRoomForBytes = 1000;

// The lines of a text.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const NextText& next) : next_(next) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    line_.clear();
    while (line_.empty()) {
      if (at_ == text_.size()) {
        at_ = 0;
        if (!next_(text_)) {
          done_ = true;
          return;
        }
      }
      take();
    }
  }

 private:
  // Up to the end of the line, of the text or of what the library takes.
  void take() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::size_t cut = std::min(end, at_ + kLongestLine);
    while (cut < end && cut > at_ && (static_cast<unsigned char>(text_[cut]) & 0xc0U) == 0x80) --cut;
    line_ = text_.substr(at_, cut - at_);
    at_ = cut == end && end < text_.size() ? end + 1 : cut;
  }

  const NextText& next_;
  std::string text_, line_;
  std::size_t at_ = 0;
  bool done_ = false;
};

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API void veche_train_sentencepiece(int vocabulary, const veche::NextText& next,
                                                           std::string& model, std::string& why) {
  veche::Lines lines(next);
  // Byte pairs are counted in whole numbers: the same text gives the same model on every machine.
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      {{"model_type", "bpe"},
       {"vocab_size", std::to_string(vocabulary)},
       {"normalization_rule_name", "identity"},
       {"remove_extra_whitespaces", "false"},
       {"add_dummy_prefix", "false"},
       {"character_coverage", vocabulary >= veche::kRoomForBytes ? "0.9999" : "1.0"},
       {"byte_fallback", vocabulary >= veche::kRoomForBytes ? "true" : "false"},
       {"user_defined_symbols", "\n"},
       {"bos_id", "-1"},
       {"eos_id", "-1"},
       {"num_threads", "1"},
       {"minloglevel", "3"}},
      &lines, &model);
  if (!status.ok()) {
    model.clear();
    why = status.ToString();
  }
}
