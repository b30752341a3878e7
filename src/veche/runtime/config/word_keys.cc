#include "veche/runtime/config/word_keys.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "veche/errors.h"

namespace veche {
namespace {

using Which = TestedModels::Which;

constexpr std::string_view kAverage = "average", kAll = "all", kSample = "sample:";

}  // namespace

TestedModels read_tested_models(const std::string& word) {
  if (word == kAverage) return {Which::average};
  if (word == kAll) return {Which::all};
  TestedModels tested{Which::sample};
  const char* const end = word.data() + word.size();
  const char* const number = word.starts_with(kSample) ? word.data() + kSample.size() : end;
  const auto [stop, error] = std::from_chars(number, end, tested.count);
  if (error != std::errc() || stop != end || tested.count < 1)
    throw RequestError(fmt::format(
        "run.eval = \"{}\" does not exist; choose average, all or sample:K, such as sample:3", word));
  return tested;
}

std::string word_of(const TestedModels& tested) {
  if (tested.which == Which::sample) return fmt::format("{}{}", kSample, tested.count);
  return std::string(tested.which == Which::all ? kAll : kAverage);
}

}  // namespace veche
