#pragma once

#include <map>

namespace veche {

// Seconds that processors have given to each thread of this process that there is, by its number. Throws
// RunError where the system does not tell.
std::map<int, double> thread_seconds();

}  // namespace veche
