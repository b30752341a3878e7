#pragma once

#include "veche/comm/cluster.h"

namespace veche {

// The job of this process (veche/job.h); null: it is alone. Joined by the first call, and left at
// the end of the process: MPI can be entered only once.
Job* process_job();

}  // namespace veche
