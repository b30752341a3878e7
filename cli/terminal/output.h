#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace veche::cli {

// All output of the program goes through here.
//
// Standard error is for people, best effort: if it is closed or full, the program continues. Its
// functions never throw, and any thread may call them.
//
// Standard output is the requested result and must be written completely. It is buffered and
// written at the end, or when the buffer is large. Errors are remembered until `end_output`. One
// thread at a time.

// Must be called first. Opens closed standard descriptors on /dev/null, so that no file opened
// later gets their number and is written to by mistake. Makes a closed pipe and the file size limit
// write errors instead of signals.
void prepare_output();

void tell_text(std::string_view text) noexcept;
void answer_text(std::string_view text);

// Standard error.
template <class... Parts>
void tell(fmt::format_string<Parts...> format, Parts&&... parts) noexcept {
  try {
    tell_text(fmt::format(format, std::forward<Parts>(parts)...));
  } catch (...) {  // out of memory for a message that may never be read
  }
}

// "veche: ...", always on one line: control characters are escaped, and overlong text is cut.
void tell_sentence(std::string_view sentence) noexcept;
std::string one_line(std::string_view text);

// Standard output.
template <class... Parts>
void answer(fmt::format_string<Parts...> format, Parts&&... parts) {
  answer_text(fmt::format(format, std::forward<Parts>(parts)...));
}

// One JSON object on a line of its own. Accepts names that are not UTF-8.
template <class Json>
void answer_json(const Json& json) {
  answer_text(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Writes the buffer, to order it before standard error or before another process ends.
void flush_output();
// The same; returns the first error since the start: "standard output cannot be written: No space
// left on device". Empty if there was none.
std::string end_output();

}  // namespace veche::cli
