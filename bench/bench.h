#pragma once

#include <functional>
#include <string>
#include <vector>

namespace veche {

struct BenchOptions {
  std::string python;  // that has the peers' libraries; empty: the one found when Veche was built
  int rounds = 9;      // times both sides are measured, in turn
  bool quick = false;  // fewer and shorter rounds: to see that it works, not to compare
  std::string transport = "threads";  // allreduce: between threads, or between ranks under mpirun ("mpi")
  std::vector<std::string> sizes;     // allreduce: only these, reality: these rates; empty: all
  std::vector<int> nodes;             // allreduce, crowd: only so many nodes or ranks; empty: all
  std::string only;                   // some benches: only cases named like this; empty: all
  double target = 88;                 // slow-network: per cent of test samples that must be right
  std::string tune;                   // allreduce: a file for the table of what was fastest; empty: none
  std::string data;                   // load: a set of images, CIFAR-10 as a rule; empty: made up
  std::function<void(const std::string&)> tell;  // people a sentence on the way; always there

  bool wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

// One comparison. The results of both sides were checked against each other before anything was timed.
struct BenchCase {
  std::string name;
  double value = 0;  // the median over the rounds
  std::string unit;
  std::string peer;  // what it is compared with
  double peer_value = 0;
  double ratio = 0;   // the median over the rounds; above one Veche is ahead
  double spread = 0;  // of the ratio: the distance of its quartiles over its median
  int rounds = 0;
  double required = 0;    // the ratio promised; 0: none
  std::string note = {};  // of how it came about, which the page of benchmarks has beside the ratio
};

// Where rounds differ by more, their median says nothing for sure.
inline constexpr double kSureSpread = 0.30;

// Of a case that promises something: "kept", "missed" or "unsure".
inline const char* verdict(const BenchCase& result) {
  if (result.spread > kSureSpread) return "unsure";
  return result.ratio >= result.required ? "kept" : "missed";
}

}  // namespace veche
