#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/http.h"

namespace veche::web {

// "/predict?top=3" becomes path and query, decoded. False where it is no path of this server ("*",
// "http://..").
bool take_target(std::string_view target, HttpRequest& request);

// The content of the first part of a form (multipart/form-data), which is the picture that somebody sent as
// one; nothing where `type`, the header Content-Type, or the body is no such form.
std::optional<std::string> first_of_form(std::string_view type, std::string_view body);

// "HTTP/1.1 200 OK" and all headers. `keep`: the connection stays open.
std::string head_of(const HttpReply& reply, bool keep, bool chunked);
// A part of a chunked answer; never empty, which would be its end.
std::string chunk_of(std::string_view part);

}  // namespace veche::web
