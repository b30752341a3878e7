#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// Measurements in rounds. In each round, our side and every peer run once, and the ratio is taken
// within the round, so that a disturbance of the machine affects both sides.
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
