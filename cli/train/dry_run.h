#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "veche/config.h"

namespace veche::cli {

// The plan of a run, as one JSON object; nothing is written. What follows from the configuration is
// read from the run's own plan. Bytes, times and memory are measured: the first steps are made in
// child processes, without tests. Throws RequestError for whatever the run would refuse.
nlohmann::ordered_json plan_of(const Settings& settings, const std::atomic<bool>& interrupted);

// The same for people.
std::string plan_text(const nlohmann::ordered_json& plan);

}  // namespace veche::cli
