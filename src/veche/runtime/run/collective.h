#pragma once

#include <functional>
#include <string>

#include "veche/comm/cluster.h"

namespace veche {

// Collective calls of all ranks of a job. `job` may be null: this process is then the only rank.

// Runs `work` on every rank. Where it fails on one rank it fails on all, with the cause:
// RequestError or RunError naming rank and host, unless all failed alike.
void run_collectively(Job* job, const std::function<void()>& work);

inline bool is_rank_zero(const Job* job) { return job == nullptr || job->rank() == 0; }

// Runs `work` on rank 0 alone. Where it fails, it fails on every rank.
void run_on_rank_zero(Job* job, const std::function<void()>& work);

// Returns rank 0's text on every rank.
std::string broadcast(Job* job, const std::string& text);

}  // namespace veche
