#pragma once

#include <map>

namespace veche {

// CPU seconds of each thread of this process, by thread id. Throws RunError if the system does not
// tell.
std::map<int, double> thread_seconds();

}  // namespace veche
