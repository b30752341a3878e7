#pragma once

#include <string>

namespace veche {

// What Linux calls the processor; "unknown processor" where it has no name there.
std::string processor_name();

// Of this build: "0.1.0".
std::string version();

}  // namespace veche
