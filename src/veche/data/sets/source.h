#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/base/module/registry.h"
#include "veche/data/sets/damage.h"
#include "veche/dataset.h"
#include "veche/options.h"
#include "veche/register.h"

namespace veche {

struct DataSource {
  std::string name;   // of a known set, else the last part of its path
  std::string kind;   // "IDX files", "a folder of images": what was recognised
  std::string place;  // where it lies; empty: nowhere
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::vector<std::string> class_names = {};  // empty: classes are but numbers
  std::string augment = "none";  // what is customary for this set (augment.h), taken unless data.augment says
  std::vector<std::shared_ptr<const DamageLog>> damage = {};  // they grow while samples are read
};

struct OpenHow {
  // The side of images whose sizes differ when no data.size is given. 0: such sets are refused, since nobody
  // should train on images of a size that nobody chose.
  int size_if_unequal = 0;
  // Processes of this host that open the same set: what must be unpacked into memory is so once for all.
  int processes = 1;
};

// Opens what the section [data] names: a known set by `name`, and whatever lies at `path`, whose kind is told
// by looking. Throws RequestError naming the file and what is wrong with it: missing, truncated, not what it
// claims.
DataSource open_data(const Options& options, std::uint64_t seed, OpenHow how = {});

// Those that the program has registered are among the names.
std::vector<std::string> data_names();
Registry<OwnDataset>& own_datasets();

std::string class_name(const DataSource& source, std::int64_t label);  // "cat", or its number

}  // namespace veche
