#include "veche/data/table/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace veche {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Takes a number of `least` to `most` digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t count = 0;
  int number = 0;
  while (count < text.size() && count < most && is_decimal(text[count]))
    number = 10 * number + (text[count++] - '0');
  if (count < least) return {};
  text.remove_prefix(count);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Year-month-day, or day.month.year.
std::optional<std::chrono::sys_days> take_day(std::string_view& text) {
  std::string_view rest = text;
  const bool year_first = rest.size() > 4 && (rest[4] == '-' || rest[4] == '/');
  const char mark = year_first ? rest[4] : '.';
  const auto first = year_first ? take_digits(rest, 4, 4) : take_digits(rest, 1, 2);
  if (!first || !take(rest, mark)) return {};
  const auto month = take_digits(rest, 1, 2);
  if (!month || !take(rest, mark)) return {};
  const auto last = year_first ? take_digits(rest, 1, 2) : take_digits(rest, 4, 4);
  if (!last) return {};
  const std::chrono::year_month_day date(
      std::chrono::year(year_first ? *first : *last), std::chrono::month(static_cast<unsigned>(*month)),
      std::chrono::day(static_cast<unsigned>(year_first ? *last : *first)));
  if (!date.ok()) return {};
  text = rest;
  return std::chrono::sys_days(date);
}

// Hours:minutes[:seconds[.fraction]][Z], as a fraction of a day.
std::optional<double> take_time(std::string_view text) {
  const auto hours = take_digits(text, 1, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return {};
  const auto minutes = take_digits(text, 2, 2);
  if (!minutes || *minutes > 59) return {};
  double seconds = 0;
  if (take(text, ':')) {
    std::size_t length = 0;
    while (length < text.size() && (is_decimal(text[length]) || text[length] == '.')) ++length;
    const auto number = read_number(text.substr(0, length));
    if (!number || *number > 60) return {};
    seconds = *number;
    text.remove_prefix(length);
  }
  if (!text.empty() && text != "Z") return {};
  return (3600.0 * *hours + 60.0 * *minutes + seconds) / 86400;
}

}  // namespace

bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords{"na", "n/a", "nan", "null", "none", "?"};
  if (text.empty()) return true;
  return text.size() <= 4 && std::ranges::any_of(kWords, [&](std::string_view word) {
           return std::ranges::equal(text, word, {}, lower);
         });
}

std::optional<double> read_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return {};
  return number;
}

std::optional<double> read_date(std::string_view text) {
  const auto day = take_day(text);
  if (!day) return {};
  const auto days = static_cast<double>(day->time_since_epoch().count());
  if (text.empty()) return days;
  if (!take(text, ' ') && !take(text, 'T')) return {};
  const auto time = take_time(text);
  return time ? std::optional(days + *time) : std::nullopt;
}

std::string date_text(double days) {
  const auto seconds = std::llround(days * 86400);
  const std::chrono::sys_seconds when{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(day);
  std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  const std::chrono::hh_mm_ss time(when - day);
  if (when != day)
    text += fmt::format("T{:02}:{:02}:{:02}", time.hours().count(), time.minutes().count(),
                        time.seconds().count());
  return text;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string result(text.substr(0, kMost));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  while (text.size() > kMost && !result.empty() && (result.back() & 0x80) != 0) result.pop_back();
  return text.size() > kMost ? result + ".." : result;
}

}  // namespace veche
