#pragma once

#include "veche/comm/cluster.h"

namespace veche {

// The MPI job in which this process was started; null: none. Joined by the first call and left at
// the end of the process: MPI can be entered only once.
Job* job_of_this_process();

}  // namespace veche
