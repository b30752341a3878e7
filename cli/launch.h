#pragma once

#include <memory>
#include <optional>

#include "veche/comm/mpi/mpi.h"

namespace veche::cli {

// What the environment tells about a launcher; nothing: started by hand.
std::optional<MpiLaunch> mpi_launch();

// The job that this process was started in, joined; null: none.
std::unique_ptr<Job> join_job();

}  // namespace veche::cli
