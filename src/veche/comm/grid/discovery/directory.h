#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/endpoint.h"

namespace veche::grid {

// A table that many machines keep together, none of which need be trusted: bytes under a name. Any thread.
class Directory {
 public:
  virtual ~Directory() = default;
  // For a minute; the same member's next one takes the place of this.
  virtual void put(const std::string& name, const std::string& bytes) = 0;
  // What is there, from whomever: all that came within the limit.
  virtual std::vector<std::string> get(const std::string& name, Time limit) = 0;
};

// Of the module veche_dht, as extern "C": `bootstrap` has HOST:PORT of machines that take part, separated by
// commas; the caller owns it. Throws RequestError.
using MakeDirectory = Directory*(const std::string& bootstrap);
inline constexpr char kMakeDirectorySymbol[] = "veche_dht_directory";

}  // namespace veche::grid
