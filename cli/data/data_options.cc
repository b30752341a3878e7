#include "cli/data/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"

namespace veche::cli {

Options data_options(const DataChoice& choice) {
  Options options;
  std::error_code error;
  const auto names = data_names();
  if (std::filesystem::exists(choice.path_or_name, error)) {
    options.set("path", {choice.path_or_name});
  } else if (std::ranges::find(names, choice.path_or_name) != names.end()) {
    options.set("name", {choice.path_or_name});
  } else {
    throw RequestError(fmt::format("'{}' is neither a file or folder nor the name of a set{}",
                                   choice.path_or_name, suggestion(choice.path_or_name, names)));
  }
  options.set("folder", {choice.folder});
  if (choice.size > 0) options.set("size", {std::int64_t{choice.size}});
  options.set("bad", {std::string(choice.skip_damaged ? "skip" : "refuse")});
  return options;
}

void tell_notes(const DataSource& source) {
  for (const auto& log : source.damage)
    for (const std::string& sentence : log->sentences()) tell("note: {}\n", one_line(sentence));
}

}  // namespace veche::cli
