#pragma once

#include <string>

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

}  // namespace veche::cli
