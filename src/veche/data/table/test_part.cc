#include "veche/data/table/test_part.h"

#include <fmt/format.h>

#include <variant>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr const char* kTestForms =
    "give a share, such as 0.2, a file, or an expression on a column, such as \"ID % 5 == 0\"";

TestPart share_of(double share) {
  if (!(share > 0 && share < 1))
    throw RequestError(fmt::format("data.test = {}: a share lies between 0 and 1, such as 0.2", share));
  return {.share = share, .file = {}, .expression = {}};
}

}  // namespace

std::optional<TestPart> read_test_part(const DataSettings& settings) {
  if (!settings.test) return {};
  if (const auto* real = std::get_if<double>(&settings.test->data)) return share_of(*real);
  if (const auto* whole = std::get_if<std::int64_t>(&settings.test->data))
    return share_of(static_cast<double>(*whole));
  const auto* words = std::get_if<std::string>(&settings.test->data);
  if (words == nullptr) throw RequestError(fmt::format("data.test: {}", kTestForms));
  std::error_code error;
  if (std::filesystem::is_regular_file(*words, error))
    return TestPart{.share = {}, .file = *words, .expression = {}};
  if (words->find_first_of("=<>") != std::string::npos)
    return TestPart{.share = {}, .file = {}, .expression = *words};
  throw RequestError(fmt::format("data.test = \"{}\": there is no such file, and it is no comparison; {}",
                                 *words, kTestForms));
}

}  // namespace veche
