#pragma once

#include <string>
#include <string_view>

namespace veche::cli {

// How far something has come, on standard error. On a terminal one line that is drawn anew and never wider
// than the terminal; elsewhere, and on a terminal that cannot go back in a line (TERM is dumb or unset),
// there is no such line. Nothing throws when standard error cannot be written.
class StatusLine {
 public:
  StatusLine();

  bool on_terminal() const { return terminal_; }
  // Draws `before`, a bar of which this part is full, and `after`; the bar gives way first where the terminal
  // is narrow. Only on a terminal.
  void draw(std::string_view before, double part, std::string_view after);
  void draw(std::string_view text);
  bool drawn() const { return drawn_; }
  void clear();
  // Takes the line away and leaves a line of its own that stays.
  void line(std::string_view text);

 private:
  const bool terminal_;
  bool drawn_ = false;
};

}  // namespace veche::cli
