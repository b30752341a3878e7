#pragma once

#include <string>
#include <vector>

#include "veche/export.h"

namespace veche {

// The processes that train together with this one: those of mpirun or srun, or those that a program
// has started on one machine with the texts of `make_local_job`. A process alone is a job of one.

struct JobPlace {
  int rank = 0, size = 1;              // of this process among all
  int local_rank = 0, local_size = 1;  // among those of this host
};

// Joins the job, as the first Run does; on the main thread.
VECHE_API JobPlace place_in_job();

// One text per process of a new job on this machine, over encrypted links of the loopback
// interface, without MPI. A text holds a private key, and the number of a listening socket that its
// process must inherit: `local_job_socket` tells it.
VECHE_API std::vector<std::string> make_local_job(int processes);
VECHE_API int local_job_socket(const std::string& member);
// Makes this process a member; once, before the first Run and before `place_in_job`. Waits until
// all are linked.
VECHE_API void join_local_job(const std::string& member);

}  // namespace veche
