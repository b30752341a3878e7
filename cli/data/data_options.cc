#include "cli/data/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/text/nearest.h"
#include "veche/data/text/open_text.h"
#include "veche/errors.h"

namespace veche::cli {

DataSettings data_settings(const DataChoice& choice) {
  DataSettings settings;
  std::error_code error;
  const auto names = data_names();
  if (std::filesystem::exists(choice.path_or_name, error)) {
    settings.path = {choice.path_or_name};
  } else if (std::ranges::find(names, choice.path_or_name) != names.end()) {
    settings.name = choice.path_or_name;
  } else {
    throw RequestError(fmt::format("'{}' is neither a file or folder nor the name of a set{}",
                                   choice.path_or_name, suggestion(choice.path_or_name, names)));
  }
  if (is_text(choice)) settings.name = "text";
  if (!choice.tokenizer.empty()) settings.tokenizer = choice.tokenizer;
  settings.folder = choice.folder;
  if (choice.size > 0) settings.size = choice.size;
  settings.bad = choice.skip_damaged ? OnDamage::skip : OnDamage::refuse;
  return settings;
}

bool is_text(const DataChoice& choice) {
  return !choice.tokenizer.empty() || looks_like_text(choice.path_or_name);
}

void tell_notes(const DataSource& source) {
  for (const auto& log : source.damage)
    for (const std::string& sentence : log->sentences()) tell("note: {}\n", one_line(sentence));
}

}  // namespace veche::cli
