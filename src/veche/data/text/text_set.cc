#include "veche/data/text/text_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "veche/errors.h"

namespace veche {

TextSet::TextSet(std::vector<Part> parts, int context) : parts_(std::move(parts)), context_(context) {
  std::size_t windows = 0;
  for (const Part& part : parts_) {
    if (part.count > 0)
      windows += static_cast<std::size_t>((part.count - 1) / static_cast<std::uint64_t>(context));
    ends_.push_back(windows);
  }
}

void TextSet::read(std::size_t, std::span<float>) const {
  throw std::logic_error("a text has tokens, not numbers");
}

void TextSet::read_tokens(std::size_t index, std::span<std::int32_t> out) const { read_moved(index, 0, out); }

void TextSet::read_moved(std::size_t index, double by, std::span<std::int32_t> out) const {
  const auto end = std::ranges::upper_bound(ends_, index);
  const auto which = static_cast<std::size_t>(end - ends_.begin());
  const std::size_t within = index - (which == 0 ? 0 : ends_[which - 1]);
  const Part& part = parts_.at(which);
  const auto wanted = static_cast<std::uint64_t>((static_cast<double>(within) + by) * context_);
  part.file->read(part.first + std::min(wanted, part.count - out.size()), out);
}

double TextSet::characters_per_token() const {
  std::uint64_t characters = 0, tokens = 0;
  for (const Part& part : parts_) {
    characters += part.characters;
    tokens += part.count;
  }
  return tokens == 0 ? 1 : static_cast<double>(characters) / static_cast<double>(tokens);
}

TextSets make_text_sets(const std::vector<std::shared_ptr<const TokenFile>>& files,
                        const std::vector<std::string>& names, int context) {
  std::vector<TextSet::Part> train, test;
  for (const auto& file : files) {
    const TokenFacts& facts = file->facts();
    train.push_back({file, 0, facts.train, facts.train_characters});
    if (facts.test > 0) test.push_back({file, facts.train, facts.test, facts.test_characters});
  }
  TextSets sets{std::make_shared<TextSet>(std::move(train), context), nullptr};
  const auto refuse = [&](const std::string& name, std::uint64_t tokens, const char* what) {
    throw RequestError(fmt::format(
        "'{}' has {} tokens to {} with, fewer than the {} of a window (model.context + 1): choose "
        "a smaller model.context or a longer text",
        name, tokens, what, context + 1));
  };
  std::uint64_t tested = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (sets.train->windows(i) == 0) refuse(names[i], files[i]->facts().train, "train");
    tested = std::max(tested, files[i]->facts().test);
  }
  if (!test.empty()) sets.test = std::make_shared<TextSet>(std::move(test), context);
  if (sets.test == nullptr || sets.test->size() == 0) refuse(names.front(), tested, "test");
  return sets;
}

}  // namespace veche
