#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace veche::cli {

// All that the program prints goes through here.
//
// Standard error is for people, and best effort: where it is closed or full the program goes on as if nothing
// had happened. Nothing here throws on its account, and any thread may tell.
//
// Standard output is what was asked for: it must be written wholly. It is gathered and written at the end, or
// when much of it has gathered; what goes wrong is remembered until `end_output`. One thread at a time.

// To be called first. A closed standard descriptor is opened on /dev/null, so that no file opened later takes
// its number and is written to by mistake. A reader who has gone away and a file that may not grow are errors
// of writing, not signals.
void prepare_output();

void tell_text(std::string_view text) noexcept;
void answer_text(std::string_view text);

// Standard error.
template <class... Parts>
void tell(fmt::format_string<Parts...> format, Parts&&... parts) noexcept {
  try {
    tell_text(fmt::format(format, std::forward<Parts>(parts)...));
  } catch (...) {  // no memory for a text that nobody may ever read
  }
}

// "veche: ...", on one line whatever the sentence quotes: signs that would move a terminal's cursor are
// spelled out, and what is endless is cut.
void tell_sentence(std::string_view sentence) noexcept;
std::string one_line(std::string_view text);

// Standard output.
template <class... Parts>
void answer(fmt::format_string<Parts...> format, Parts&&... parts) {
  answer_text(fmt::format(format, std::forward<Parts>(parts)...));
}

// One JSON object on a line of its own. Names that are not UTF-8 do not stop it.
template <class Json>
void answer_json(const Json& json) {
  answer_text(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Writes what was gathered: so that it comes before words on standard error, or before another process ends.
void flush_output();
// The same, and what went wrong since the start: "standard output cannot be written: No space left on
// device". Empty: nothing.
std::string end_output();

}  // namespace veche::cli
