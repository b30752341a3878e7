#pragma once

#include <string>

#include "veche/data/sets/source.h"

namespace veche::cli {

// The [data] section for a request: a path if given, otherwise a known set.
struct DataChoice {
  std::string path_or_name;
  std::string folder = "data";  // folder of fetched sets
  int size = 0;
  bool skip_damaged = false;
  std::string tokenizer = {};  // of a text; empty: the default
};
DataSettings data_settings(const DataChoice& choice);

// A text, by its name or by --tokenizer.
bool is_text(const DataChoice& choice);

// Prints notes from opening the set, such as a link that was skipped.
void tell_notes(const DataSource& source);

}  // namespace veche::cli
