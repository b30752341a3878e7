#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/http.h"

namespace veche::web {

// Splits "/predict?top=3" into path and query, decoded. Returns false for targets that are not a
// path ("*", "http://..").
bool take_target(std::string_view target, HttpRequest& request);

// The content of the first part of a multipart/form-data body, where browsers put an uploaded
// image. nullopt if `type` (the Content-Type) or the body is not such a form.
std::optional<std::string> first_of_form(std::string_view type, std::string_view body);

// "HTTP/1.1 200 OK" and all headers. `keep`: the connection stays open.
std::string head_of(const HttpReply& reply, bool keep, bool chunked);
// A chunk of a chunked answer. `part` must not be empty, which would end the answer.
std::string chunk_of(std::string_view part);

}  // namespace veche::web
