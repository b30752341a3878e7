#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"

namespace veche::grid {

// A job with a fixed set of members, for tests and measurements of the engine without membership
// changes. Rank i is member i.
struct FixedMembers {
  std::string root;                       // the run's certificate, in DER
  std::vector<std::string> warrants;      // of the signers
  std::vector<std::string> certificates;  // by rank
  std::vector<std::string> addresses;     // by rank
  int rank = 0;
  std::string key;     // of this rank, in PEM form
  int listening = -1;  // a socket listening at its address
};

// Everything that `count` processes of this host need to form such a job, including an inherited
// socket for each.
std::vector<FixedMembers> make_fixed_members(int count);

// Waits until all are linked. Throws RunError after a minute.
std::unique_ptr<Job> join_fixed_job(const FixedMembers& members);

// The same through the module; throws RequestError if it is missing.
std::vector<FixedMembers> fixed_members(int count);
std::unique_ptr<Job> fixed_job(const FixedMembers& members);

// Symbols exported by the module, as extern "C". The caller owns the job.
using MakeFixedMembers = void(int count, std::vector<FixedMembers>& made);
using JoinFixedJob = Job*(const FixedMembers& members);
inline constexpr char kFixedMembersSymbol[] = "veche_grid_fixed_members";
inline constexpr char kFixedJobSymbol[] = "veche_grid_fixed_job";

}  // namespace veche::grid
