#pragma once

#include <string>

namespace veche {

// The processor's name as Linux reports it, or "unknown processor".
std::string processor_name();

// Version of this build: "0.1.0".
std::string version();
// The commit that was built, as git named it when the build was configured: "48cea47e", with
// "-changed" after it if files differed from the commit. "unknown" outside a checkout.
std::string commit();

}  // namespace veche
