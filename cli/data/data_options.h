#pragma once

#include <string>

#include "veche/data/sets/source.h"
#include "veche/options.h"

namespace veche::cli {

// The section [data] that opens what a person named: a path when there is one, else a known set.
struct DataChoice {
  std::string path_or_name;
  std::string folder = "data";  // where fetched sets are
  int size = 0;
  bool skip_damaged = false;
};
Options data_options(const DataChoice& choice);

// Prints as notes what was found out while the set was opened, such as a link that was left out.
void tell_notes(const DataSource& source);

}  // namespace veche::cli
