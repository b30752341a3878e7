#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "veche/settings.h"

namespace veche {

// The key data.test: which part of the data is the test set. Exactly one member is set.
struct TestPart {
  std::optional<double> share;  // between 0 and 1
  std::filesystem::path file;   // that exists
  std::string expression;       // on a column of a table
};

// Empty: the key is absent. Throws RequestError for a share out of range and for words that are
// neither a file nor an expression.
std::optional<TestPart> read_test_part(const DataSettings& settings);

}  // namespace veche
