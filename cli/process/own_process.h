#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

namespace veche::cli {

// Runs `work` in a child process and returns its result. Rethrows its exceptions as RequestError or
// RunError with the same text. An interrupt of this process also interrupts the child.
nlohmann::ordered_json in_process_of_its_own(const std::function<nlohmann::ordered_json()>& work,
                                             const std::atomic<bool>& interrupted);

}  // namespace veche::cli
