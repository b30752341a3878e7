#include "veche/base/text/figures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace veche::figures {
namespace {

constexpr std::string_view kSpace = "\u00a0";  // no-break

std::string joined(std::string number, std::string_view unit) { return number.append(kSpace).append(unit); }

// Halves away from zero, as JavaScript rounds them; fmt would round them to even.
double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals), larger = value * scale;
  return std::isfinite(larger) ? std::round(larger) / scale : value;
}

// The decimals that three significant digits of a value have; negative above 999.
int decimals_of_three(double value) {
  if (value == 0) return 0;
  const auto decimals = [](double size) { return 2 - static_cast<int>(std::floor(std::log10(size))); };
  // 9.996 becomes 10.0.
  return decimals(std::abs(rounded(value, decimals(std::abs(value)))));
}

double to_three(double value) { return value == 0 ? 0 : rounded(value, decimals_of_three(value)); }

// 1.23e-7 rather than 1.23e-07.
std::string power_of_ten(double value) {
  std::string text = fmt::format("{:.2e}", value);
  const std::size_t digits = text.find('e') + 2;
  while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  return text;
}

}  // namespace

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return std::string(kMissing);
  std::string text = fmt::format("{:.{}f}", rounded(value, decimals), decimals);
  if (text.find_first_of("123456789") == std::string::npos && text.front() == '-') text.erase(0, 1);
  const std::size_t point = text.find('.'), first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = point == std::string::npos ? text.size() : point; at > first + 3;)
    text.insert(at -= 3, ",");
  return text;
}

std::string count(double value) { return fixed(value, 0); }

std::string three(double value) {
  if (!std::isfinite(value)) return std::string(kMissing);
  if (value != 0 && std::abs(value) < 1e-6) return power_of_ten(value);
  return fixed(to_three(value), std::max(0, decimals_of_three(value)));
}

std::string percent(double share) {
  return std::isfinite(share) ? joined(fixed(100 * share, 1), "%") : std::string(kMissing);
}

std::string fine_percent(double share) {
  return std::isfinite(share) ? joined(three(100 * share), "%") : std::string(kMissing);
}

std::string bytes(double value) {
  if (!std::isfinite(value)) return std::string(kMissing);
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; to_three(value) >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return joined(unit == 0 ? count(value) : three(value), kUnits[unit]);
}

std::string seconds(double value) {
  return std::isfinite(value) ? joined(three(value), "s") : std::string(kMissing);
}

std::string duration(double value) {
  if (!std::isfinite(value) || value < 59.95) return seconds(value);
  const double whole = std::round(value), minutes = std::floor(whole / 60);
  if (whole < 3600)
    return fmt::format("{}{}min{}{:02.0f}{}s", minutes, kSpace, kSpace, std::fmod(whole, 60), kSpace);
  return fmt::format("{}{}h{}{:02.0f}{}min", std::floor(minutes / 60), kSpace, kSpace, std::fmod(minutes, 60),
                     kSpace);
}

std::string percent(double mean, double deviation) {
  if (!std::isfinite(mean)) return std::string(kMissing);
  return joined(fixed(100 * mean, 1) + " ± " + fixed(100 * deviation, 1), "%");
}

std::string three(double mean, double deviation) {
  if (!std::isfinite(mean)) return std::string(kMissing);
  if (mean != 0 && std::abs(mean) < 1e-6) return three(mean) + " ± " + three(deviation);
  return three(mean) + " ± " + fixed(deviation, std::max(0, decimals_of_three(mean)));
}

std::string plain(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSigns{
      {{kSpace, " "}, {"±", "+-"}, {kMissing, "-"}}};
  for (const auto& [sign, as] : kSigns)
    for (std::size_t at = 0; (at = text.find(sign, at)) != std::string::npos; at += as.size())
      text.replace(at, sign.size(), as);
  return text;
}

}  // namespace veche::figures
