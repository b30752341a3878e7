#pragma once

#include <string>

#include "veche/comm/grid/grid_module.h"

namespace veche::grid {

std::string coded(const Request& request);
Request read_request(std::string_view text);  // throws MalformedMessage
std::string coded(const Status& status);
Status read_status(std::string_view text);  // throws MalformedMessage

// Asks the member that runs in this folder, by its own key. What it answers; throws RequestError with what it
// refuses.
std::string ask_member(const std::filesystem::path& folder, const Request& request);
// What it answers with: whether it is refused, and the text.
std::string coded_answer(bool good, const std::string& text);

}  // namespace veche::grid
