#pragma once

#include <string>

#include "veche/comm/grid/grid_module.h"

namespace veche::grid {

std::string coded(const Request& request);
Request read_request(std::string_view text);  // throws MalformedMessage
std::string coded(const Status& status);
Status read_status(std::string_view text);  // throws MalformedMessage

// Sends a request to the member that runs in this folder, authenticated by its own key. Returns the
// answer; throws RequestError with the reason of a refusal.
std::string ask_member(const std::filesystem::path& folder, const Request& request);
// Its answer: whether the request succeeded, and the text.
std::string coded_answer(bool good, const std::string& text);

}  // namespace veche::grid
