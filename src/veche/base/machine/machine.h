#pragma once

#include <string>

namespace veche {

// The processor's name as Linux reports it, or "unknown processor".
std::string processor_name();

// Version of this build: "0.1.0".
std::string version();

}  // namespace veche
