#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "veche/learner.h"

namespace veche {

// One text that a language model continues. It keeps the keys and values of the tokens it was fed
// (the cache), so that a further token costs the same however long the text is. One thread at a
// time. It reads the learner's parameters: the learner outlives it, and a change of the parameters
// needs clear().
class Generation {
 public:
  virtual ~Generation() = default;

  virtual int vocabulary() const = 0;  // number of different tokens
  virtual int context() const = 0;     // the most tokens that the model sees
  virtual int seen() const = 0;        // how many it sees now

  // Appends tokens to the text and returns vocabulary() logits of the token after the last one,
  // valid until the next call. When the context is full, the model goes on with the newer half of
  // it: what the logits depend on follows from the number of tokens fed, not from how many came in
  // one call. Throws RequestError for a token that the vocabulary does not have, or none.
  virtual std::span<const float> feed(std::span<const std::int32_t> tokens) = 0;
  // Begins a new text.
  virtual void clear() = 0;
};

// Implemented by the learners of language models.
class Generator {
 public:
  virtual ~Generator() = default;
  // An empty text. Several may go on at once, also while another thread evaluates the learner, as
  // long as nobody changes its parameters. Null: the model is no language model.
  virtual std::unique_ptr<Generation> begin_text() = 0;
};

// An empty text of the learner's model, or null if it cannot continue texts.
inline std::unique_ptr<Generation> begin_text(Learner& learner) {
  auto* const generator = dynamic_cast<Generator*>(&learner);
  return generator == nullptr ? nullptr : generator->begin_text();
}

}  // namespace veche
