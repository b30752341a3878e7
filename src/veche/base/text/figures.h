#pragma once

#include <string>
#include <string_view>

// Numbers as people read them, the same in reports, in the terminal and on the live page
// (web/watch/front/format.js); figures_cases.txt holds both to the same answers. Three significant
// digits, decimal units after a no-break space, and an en dash for a value that is missing (not
// finite). Files for programs (JSON, CSV) have full digits instead.
namespace veche::figures {

inline constexpr std::string_view kMissing = "–";

std::string count(double value);                     // 61,600: every digit
std::string three(double value);                     // 0.487, 3.56, 61,600, 1.23e-7
std::string fixed(double value, int decimals);       // 86.2
std::string percent(double share);                   // 88.0 % of 0.88
std::string fine_percent(double share);              // 0.460 % of 0.0046
std::string bytes(double value);                     // 412 GB
std::string seconds(double value);                   // 38.7 s, 3,870 s: in tables
std::string duration(double seconds);                // 38.7 s, 2 min 01 s, 1 h 04 min
std::string percent(double mean, double deviation);  // 86.2 ± 1.5 %
// With the deviation to the decimals of the mean: 5.13 ± 0.02.
std::string three(double mean, double deviation);

// The same for a terminal that may know no other signs: "86.2 +- 1.5 %", "-".
std::string plain(std::string text);

}  // namespace veche::figures
