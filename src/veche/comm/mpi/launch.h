#pragma once

#include <memory>
#include <optional>
#include <string>

#include "veche/comm/mpi/mpi.h"

namespace veche {

// What the environment tells about a launcher; nothing: started by hand.
std::optional<MpiLaunch> mpi_launch();

// Whether the launcher calls this process the first of its ranks; asked before joining.
bool is_first_rank();

// How many processes srun started, this one among them, without MPI between them; 1: this one alone.
int tasks_without_mpi();

// How the launcher of this process starts so many ranks: "mpirun -np 4".
std::string launcher_words(int ranks);

// The job that this process was started in, joined; null: none.
std::unique_ptr<Job> join_launched_job();

}  // namespace veche
