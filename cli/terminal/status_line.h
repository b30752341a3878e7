#pragma once

#include <string>
#include <string_view>

namespace veche::cli {

// A progress line on standard error. On a terminal it is redrawn in place and never wider than the
// terminal. Elsewhere, and on a terminal without cursor control (TERM is dumb or unset), it does
// not appear. Never throws because of standard error.
class StatusLine {
 public:
  StatusLine();

  bool on_terminal() const { return terminal_; }
  // Draws `before`, a bar filled to this fraction, and `after`; on a narrow terminal the bar
  // shrinks first. Only on a terminal.
  void draw(std::string_view before, double part, std::string_view after);
  void draw(std::string_view text);
  bool drawn() const { return drawn_; }
  void clear();
  // Removes the progress line and prints a permanent line.
  void line(std::string_view text);

 private:
  const bool terminal_;
  bool drawn_ = false;
};

}  // namespace veche::cli
