#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"

namespace veche::grid {

// A job of members that are given beforehand and stay: what the engine is tested and measured with, without
// the agreement on views. Rank i is member i.
struct FixedMembers {
  std::string root;                       // the run's certificate, in DER
  std::vector<std::string> warrants;      // of those who signed
  std::vector<std::string> certificates;  // by rank
  std::vector<std::string> addresses;     // by rank
  int rank = 0;
  std::string key;     // of this rank, in PEM form
  int listening = -1;  // a socket that listens at its address
};

// All that `count` processes of this host need to be such a job, made at once: a socket for each, which its
// process inherits.
std::vector<FixedMembers> make_fixed_members(int count);

// Waits until all are linked. Throws RunError where they are not within a minute.
std::unique_ptr<Job> join_fixed_job(const FixedMembers& members);

// The same by the module, for programs that load it: throw RequestError where it is missing.
std::vector<FixedMembers> fixed_members(int count);
std::unique_ptr<Job> fixed_job(const FixedMembers& members);

// The symbols that the module exports, as extern "C"; the caller owns the job.
using MakeFixedMembers = void(int count, std::vector<FixedMembers>& made);
using JoinFixedJob = Job*(const FixedMembers& members);
inline constexpr char kFixedMembersSymbol[] = "veche_grid_fixed_members";
inline constexpr char kFixedJobSymbol[] = "veche_grid_fixed_job";

}  // namespace veche::grid
