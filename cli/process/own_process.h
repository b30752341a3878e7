#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

namespace veche::cli {

// Does the work in a child of this process and returns what it returns there; throws what it throws, as a
// RequestError or a RunError with its words. Whoever interrupts this process interrupts the child.
nlohmann::ordered_json in_process_of_its_own(const std::function<nlohmann::ordered_json()>& work,
                                             const std::atomic<bool>& interrupted);

}  // namespace veche::cli
