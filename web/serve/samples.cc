#include "web/serve/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veche/base/text/utf8.h"
#include "veche/data/table/table_set.h"
#include "veche/errors.h"

namespace veche::web {
namespace {

using SampleJson = nlohmann::ordered_json;

constexpr std::size_t kMostSamples = 20, kMostPrompts = 6;
constexpr std::size_t kMostBytes = 1U << 20U;  // of the pixels of all of them, but for a single larger one
constexpr std::size_t kMostLooks = 10'000;     // labels looked at to find samples of every class
constexpr std::size_t kPrompt = 80;            // bytes of a text

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Spread over the set, with as many of every class as it allows.
std::vector<std::size_t> choose(const Dataset& test, std::size_t most) {
  const std::size_t size = test.size();
  std::vector<std::size_t> chosen;
  if (test.task() != Task::classification || size <= most) {
    for (std::size_t i = 0; i < std::min(size, most); ++i) chosen.push_back(i * size / std::min(size, most));
    return chosen;
  }
  const auto classes = static_cast<std::size_t>(test.classes());
  const std::size_t of_each = (most + classes - 1) / classes;
  std::vector<std::size_t> taken(classes);
  const std::size_t looks = std::min(size, kMostLooks);
  for (std::size_t i = 0; i < looks && chosen.size() < most; ++i) {
    const std::size_t index = i * size / looks;
    std::size_t& mine = taken[static_cast<std::size_t>(test.label(index))];
    if (mine == of_each) continue;
    ++mine;
    chosen.push_back(index);
  }
  std::ranges::stable_sort(chosen, {}, [&](std::size_t index) { return test.label(index); });
  return chosen;
}

// For data: addresses.
std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t there = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) three = three << 8U | (j < there ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += j <= there ? kDigits[three >> (18U - 6U * static_cast<unsigned>(j)) & 63U] : '=';
  }
  return text;
}

std::string picture_of(const PixelSet& set, std::size_t index) {
  const Shape shape = set.shape();
  std::vector<std::uint8_t> room(shape.size());
  const auto pixels = set.pixels(index, room);
  return "data:image/png;base64," +
         base64(encode_png({shape.width, shape.height, shape.channels, {pixels.begin(), pixels.end()}}));
}

SampleJson row_of(const TableSet& set, std::size_t index) {
  SampleJson row = SampleJson::object();
  const std::vector<std::string> texts = set.texts(index);
  for (std::size_t i = 0; i < texts.size(); ++i)
    row[set.scheme()->columns[i].name] = texts[i].empty() ? SampleJson() : SampleJson(texts[i]);
  return row;
}

// The whole words, of whole characters, at the beginning of a window, of which the first may be the
// end of a word.
std::string prompt_of(const Dataset& set, const Tokenizer& tokenizer, std::size_t index) {
  std::vector<std::int32_t> tokens(set.shape().size() + 1);
  set.tokens()->read_tokens(index, tokens);
  std::string text;
  for (const std::int32_t token : tokens)
    if (text.size() < kPrompt) text += tokenizer.decode(token);
  const auto first = std::ranges::find_if(text, is_space);
  if (first != text.end()) text.erase(text.begin(), std::find_if_not(first, text.end(), is_space));
  if (const auto last = std::find_if(text.rbegin(), text.rend(), is_space); last != text.rend())
    text.erase(last.base() - 1, text.end());
  std::size_t whole = 0;
  while (whole < text.size()) {
    const std::size_t length = utf8_length(std::string_view(text).substr(whole));
    if (length == 0) break;
    whole += length;
  }
  text.resize(whole);
  return text;
}

SampleJson sample_of(const DataSource& source, const ModelInput& input, std::size_t index) {
  const Dataset& test = *source.test;
  SampleJson sample{{"index", index}};
  if (const auto* pixels = dynamic_cast<const PixelSet*>(&test))
    sample["picture"] = picture_of(*pixels, index);
  if (const auto* rows = dynamic_cast<const TableSet*>(&test)) sample["row"] = row_of(*rows, index);
  if (test.tokens() != nullptr) sample["text"] = prompt_of(test, *source.tokenizer, index);
  if (test.values() != nullptr) sample["value"] = test.values()->value(index);
  if (test.task() == Task::classification) {
    const auto label = static_cast<std::size_t>(test.label(index));
    sample["class"] = input.name_of(label);
    sample["label"] = label;
  }
  return sample;
}

SampleJson read_samples(const TrainedModel& model) {
  if (model.nodes() == 0)
    throw RequestError("a file of weights does not name its test set: serve the run's folder to see samples");
  const DataSource source = model.data();
  const ModelInput& input = model.input();
  const Dataset& test = *source.test;
  if (test.shape() != input.shape || test.task() != input.task || test.classes() != input.classes)
    throw RequestError(
        fmt::format("'{}' is another data set now than when the run was trained", source.name));
  if (input.table && dynamic_cast<const TableSet*>(&test) == nullptr)
    throw RequestError("the test rows come from several tables, which are not shown");
  std::size_t most = kMostSamples;
  if (input.task == Task::language) most = kMostPrompts;
  if (input.normalization) most = std::clamp<std::size_t>(kMostBytes / input.shape.size(), 1, kMostSamples);
  SampleJson samples = SampleJson::array();
  for (const std::size_t index : choose(test, most)) {
    SampleJson sample = sample_of(source, input, index);
    if (sample.value("text", "a prompt") != "") samples.push_back(std::move(sample));
  }
  return {{"set", source.name}, {"size", test.size()}, {"samples", std::move(samples)}};
}

}  // namespace

std::string TestSamples::json() {
  const MutexLock lock(mutex_);
  if (!made_.empty()) return made_;
  SampleJson json;
  try {
    json = read_samples(model_);
  } catch (const Error& error) {
    json = {{"samples", SampleJson::array()}, {"why", error.what()}};
  }
  return made_ = json.dump(-1, ' ', false, SampleJson::error_handler_t::replace) + "\n";
}

}  // namespace veche::web
