#include "veche/train/views/state_request.h"

#include <charconv>
#include <string_view>

namespace veche {
namespace {

struct RequestWord {
  StateRequest::What what;
  std::string_view text;
  int numbers;  // after it, each behind a slash
};
constexpr RequestWord kRequestWords[] = {
    {StateRequest::What::step, "step", 0},        {StateRequest::What::end, "end", 0},
    {StateRequest::What::copy, "copy", 1},        {StateRequest::What::manifest, "manifest", 1},
    {StateRequest::What::piece, "piece", 2},      {StateRequest::What::update, "update", 1},
    {StateRequest::What::gradient, "gradient", 1}};

// Takes "/NUMBER" off the front of a text.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  if (!text.starts_with('/')) return {};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 1, end, number);
  if (read.ec != std::errc()) return {};
  text = {read.ptr, end};
  return number;
}

}  // namespace

std::string name_of(const StateRequest& request) {
  for (const RequestWord& word : kRequestWords) {
    if (word.what != request.what) continue;
    std::string name(word.text);
    if (word.numbers > 0) name += "/" + std::to_string(request.of);
    if (word.numbers > 1) name += "/" + std::to_string(request.part);
    return name;
  }
  return {};
}

std::uint64_t offset_of(const StateRequest& request) {
  return request.what == StateRequest::What::gradient ? request.part * StateRequest::kPartBytes : 0;
}

std::optional<StateRequest> request_named(const std::string& name, std::uint64_t offset) {
  for (const RequestWord& word : kRequestWords) {
    std::string_view rest(name);
    if (!rest.starts_with(word.text)) continue;
    rest.remove_prefix(word.text.size());
    const auto of = word.numbers > 0 ? take_number(rest) : std::optional<std::uint64_t>(0);
    const auto part = word.numbers > 1 ? take_number(rest) : std::optional(offset / StateRequest::kPartBytes);
    if (!of || !part || !rest.empty() || *of == StateRequest::kAsItIs) return {};
    return StateRequest{word.what, *of, *part};
  }
  return {};
}

}  // namespace veche
