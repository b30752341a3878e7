#pragma once

#include <string>

#include "veche/options.h"

namespace veche {

// Numbers with units, as people write them in [network]. Each throws RequestError, naming `key`,
// for a number without a unit, an unknown unit or a number that makes no sense.

// "100Mbps" (megabit) or "12.5MBps" (megabyte): bytes a second, above 0.
double read_bandwidth(const std::string& key, const Value& value);
// "5ms": seconds, at least 0. ns, us, ms, s, min, h, d.
double read_duration(const std::string& key, const Value& value);

}  // namespace veche
