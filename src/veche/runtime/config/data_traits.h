#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veche/data/sets/source.h"

namespace veche {

// What the data of all members of a grid must have in common, so that they can train one model.
struct DataTraits {
  std::vector<std::int64_t> shape = {};
  std::int64_t classes = 0;
  std::vector<std::string> class_names = {};  // empty: classes are numbers only
  std::vector<double> mean = {},
                      deviation = {};  // of the pixel normalisation; empty: pixels are not normalised
  Task task = Task::classification;
  std::string vocabulary = {};  // of a text, as packed_tokenizer gives it: members take the run's
  // Of a table, in place of shape and classes, which follow from all members' rows: what each
  // column holds, by name.
  std::map<std::string, std::string> columns = {};

  // Of an open training set; empty where there is none, since the learner brings its own data.
  static DataTraits of_source(const DataSource& source);
  // The text that a founder sends to newcomers.
  std::string text() const;
  // Reads that text; throws RequestError where it is damaged.
  static DataTraits of(const std::string& text);
  // Throws RequestError with both values where these traits and those of the run differ.
  void check_fit(const DataTraits& runs) const;
};

}  // namespace veche
