#pragma once

#include <functional>
#include <string>
#include <vector>

namespace veche {

struct BenchOptions {
  std::string python;  // interpreter with the peers' libraries; empty: the one found at build time
  int rounds = 9;      // number of alternating measurements of both sides
  bool quick = false;  // fewer and shorter rounds: a functional check, not a comparison
  std::string transport = "threads";  // allreduce: between threads, or between ranks under mpirun ("mpi")
  std::vector<std::string> sizes;     // allreduce: only these sizes, reality: these rates; empty: all
  std::vector<int> nodes;             // allreduce, crowd: only these numbers of nodes or ranks; empty: all
  std::string only;                   // some benches: only cases with this in their name; empty: all
  double target = 88;                 // slow-network: test accuracy to reach, in per cent
  std::string tune;  // allreduce: output file for the table of fastest algorithms; empty: none
  std::string data;  // load: an image set, usually CIFAR-10; empty: synthetic
  std::function<void(const std::string&)> tell;  // shows progress to people; never empty

  bool wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

// One comparison. The results of both sides were verified against each other before timing.
struct BenchCase {
  std::string name;
  double value = 0;  // median over the rounds
  std::string unit;
  std::string peer;  // the other side of the comparison
  double peer_value = 0;
  double ratio = 0;   // median over the rounds; above one means Veche is ahead
  double spread = 0;  // of the ratio: interquartile range over median
  int rounds = 0;
  double required = 0;    // the promised ratio; 0: none
  std::string note = {};  // remark for the page of benchmarks
};

// With a larger spread, the median is not conclusive.
inline constexpr double kSureSpread = 0.30;

// For a case with a promise: "kept", "missed" or "unsure".
inline const char* verdict(const BenchCase& result) {
  if (result.spread > kSureSpread) return "unsure";
  return result.ratio >= result.required ? "kept" : "missed";
}

}  // namespace veche
