#pragma once

#include <memory>
#include <optional>
#include <string>

#include "veche/comm/mpi/mpi.h"

namespace veche {

// The launcher, from the environment; nullopt: started by hand.
std::optional<MpiLaunch> mpi_launch();

// Whether the launcher calls this process its first rank; for use before joining.
bool is_first_rank();

// The number of processes that srun started without MPI, including this one; 1: only this one.
int tasks_without_mpi();

// The launcher's command for this many ranks: "mpirun -np 4".
std::string launcher_words(int ranks);

// Joins the job in which this process was started; null: none.
std::unique_ptr<Job> join_launched_job();

}  // namespace veche
