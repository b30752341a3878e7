#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/endpoint.h"

namespace veche::grid {

// A distributed table (name to bytes) kept by many untrusted machines. Any thread.
class Directory {
 public:
  virtual ~Directory() = default;
  // Stores for a minute; the same member's next entry replaces this one.
  virtual void put(const std::string& name, const std::string& bytes) = 0;
  // All entries, from any publisher, that arrive within the limit.
  virtual std::vector<std::string> get(const std::string& name, Time limit) = 0;
};

// Exported by the module veche_dht, as extern "C". `bootstrap` lists HOST:PORT of participating
// machines, separated by commas. The caller owns the directory. Throws RequestError.
using MakeDirectory = Directory*(const std::string& bootstrap);
inline constexpr char kMakeDirectorySymbol[] = "veche_dht_directory";

}  // namespace veche::grid
