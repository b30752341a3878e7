#pragma once

#include <functional>

#include "veche/comm/cluster.h"

namespace veche {

// Does something on every rank of a job; without a job just does it. Where it fails on one rank it fails on
// all, with the cause: RequestError or RunError naming rank and host, unless all failed alike.
void on_all_ranks(Job* job, const std::function<void()>& work);

}  // namespace veche
