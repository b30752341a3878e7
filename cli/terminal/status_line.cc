#include "cli/terminal/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/terminal/output.h"

namespace veche::cli {
namespace {

constexpr std::size_t kBarWidth = 24, kLeastBar = 4;

bool can_draw() {
  const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return isatty(STDERR_FILENO) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

// The last column stays free: some terminals wrap as soon as it is filled. A terminal of unknown
// width reports 0.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::numeric_limits<std::size_t>::max();
  return size.ws_col - 1U;
}

bool begins_sign(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_sign));
}

std::string_view cut(std::string_view text, std::size_t most) {
  std::size_t signs = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (begins_sign(text[i]) && ++signs > most) return text.substr(0, i);
  return text;
}

std::string bar(double part, std::size_t cells) {
  const double known = part > 0 ? std::min(part, 1.0) : 0;  // NaN counts as 0
  const auto full = static_cast<std::size_t>(std::lround(known * static_cast<double>(cells)));
  std::string text;
  for (std::size_t i = 0; i < cells; ++i) text += i < full ? "█" : "░";
  return text;
}

}  // namespace

StatusLine::StatusLine() : terminal_(can_draw()) {}

void StatusLine::draw(std::string_view before, double part, std::string_view after) {
  const std::size_t taken = width(before) + width(after) + 2, all = columns();
  const std::size_t cells = all > taken ? std::min(kBarWidth, all - taken) : 0;
  std::string text(before);
  if (!text.empty()) text += ' ';
  if (cells >= kLeastBar) text += bar(part, cells) + ' ';
  draw(text.append(after));
}

void StatusLine::draw(std::string_view text) {
  if (!terminal_) return;
  tell("\r\033[K{}", cut(text, columns()));
  drawn_ = true;
}

void StatusLine::clear() {
  if (drawn_) tell_text("\r\033[K");
  drawn_ = false;
}

void StatusLine::line(std::string_view text) {
  tell("{}{}\n", drawn_ ? "\r\033[K" : "", text);
  drawn_ = false;
}

}  // namespace veche::cli
