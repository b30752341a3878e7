#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// What was measured in rounds, in each of which we and every peer ran once: the ratio is taken within a
// round, so that a disturbance of the machine touches both sides.
class Rounds {
 public:
  explicit Rounds(std::size_t peers) : theirs_(peers) {}

  void ours(double rate) { ours_.push_back(rate); }
  void theirs(std::size_t peer, double rate) { theirs_.at(peer).push_back(rate); }
  BenchCase result(std::size_t peer, std::string name, std::string unit, std::string peer_name,
                   double required = 0) const;

 private:
  std::vector<double> ours_;
  std::vector<std::vector<double>> theirs_;
};

}  // namespace veche
