#include "veche/runtime/config/word_keys.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "veche/errors.h"

namespace veche {
namespace {

// Words of run.eval.
constexpr std::string_view kTestAverage = "average", kTestAll = "all", kTestSample = "sample:";

}  // namespace

TestedModels read_tested_models(const std::string& word) {
  if (word == kTestAverage) return {TestedModels::Which::average};
  if (word == kTestAll) return {TestedModels::Which::all};
  TestedModels tested{TestedModels::Which::sample};
  const char* const end = word.data() + word.size();
  const char* const number = word.starts_with(kTestSample) ? word.data() + kTestSample.size() : end;
  const auto [stop, error] = std::from_chars(number, end, tested.count);
  if (error != std::errc() || stop != end || tested.count < 1)
    throw RequestError(fmt::format(
        "run.eval = \"{}\" does not exist; choose average, all or sample:K, such as sample:3", word));
  return tested;
}

std::string word_of(const TestedModels& tested) {
  if (tested.which == TestedModels::Which::sample) return fmt::format("{}{}", kTestSample, tested.count);
  return std::string(tested.which == TestedModels::Which::all ? kTestAll : kTestAverage);
}

}  // namespace veche
