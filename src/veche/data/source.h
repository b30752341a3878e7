#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/base/value.h"
#include "veche/data/dataset.h"

namespace veche {

struct DataSource {
  std::string name;
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::vector<std::string> class_names = {};  // empty: classes are but numbers
  std::string augment = "none";  // what is customary for this set (augment.h), taken unless data.augment says
};

// Opens what the section [data] names. Throws RequestError naming the file and what is wrong with it:
// missing, truncated, not what it claims.
DataSource open_data(const Options& options, std::uint64_t seed);

std::vector<std::string> data_names();

}  // namespace veche
