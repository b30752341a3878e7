#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/base/module/registry.h"
#include "veche/data/sets/damage.h"
#include "veche/data/text/tokenizer.h"
#include "veche/dataset.h"
#include "veche/register.h"
#include "veche/settings.h"

namespace veche {

struct TableScheme;

struct DataSource {
  std::string name;   // of a known set, otherwise the last component of its path
  std::string kind;   // the recognised kind: "IDX files", "a folder of images"
  std::string place;  // its path; empty: none
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::vector<std::string> class_names = {};       // empty: classes have numbers only
  std::shared_ptr<const TableScheme> scheme = {};  // of a table, or of the tables of several sites
  std::vector<float> class_weights = {};           // by class, in the training loss; empty: all weigh 1
  std::string augment = "none";  // customary augmentation (augment.h); default of data.augment
  std::vector<std::shared_ptr<const DamageLog>> damage = {};  // these logs grow while samples are read
  std::shared_ptr<const Tokenizer> tokenizer = {};            // of a text
};

struct OpenOptions {
  // The side to use if image sizes differ and data.size is not given. 0: such sets are refused,
  // since a size should be chosen deliberately before training.
  int size_if_unequal = 0;
  // Processes of this host that open the same set: unpacked data are shared among them.
  int processes = 1;
  // Tokens of a text that the model sees at a time.
  int context = 64;
  // Of a table: the scheme to apply, such as that of the run that is resumed. Null: its own.
  std::shared_ptr<const TableScheme> scheme = {};
  // Of a table: one of several sites, which agree on a scheme later (table/open_table.h). Until
  // then its own one holds, and what does not fit it is no error.
  bool scheme_follows = false;
};

// Opens the data of the [data] section: a known set by `name`, or anything at `path`, whose kind is
// detected. Throws RequestError naming the file and the problem: missing, truncated, not what it
// claims to be.
DataSource open_data(const DataSettings& settings, std::uint64_t seed, OpenOptions how = {});

// Includes the data sets registered by the program.
std::vector<std::string> data_names();
bool is_text(const DataSettings& settings);  // data.name = "text"
Registry<OwnDataset>& own_datasets();

std::string class_name(const DataSource& source, std::int64_t label);  // "cat", or its number

}  // namespace veche
