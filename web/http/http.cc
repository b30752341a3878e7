#include "web/http/http.h"

#include "veche/base/module/modules.h"
#include "veche/errors.h"

namespace veche::web {

std::string_view HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string HttpRequest::query_value(const std::string& key, const std::string& fallback) const {
  const auto found = query.find(key);
  return found == query.end() ? fallback : found->second;
}

std::unique_ptr<HttpServer> start_http_server(const HttpOptions& options, HttpHandler& handler) {
  std::string why;
  std::unique_ptr<HttpServer> server(
      module_function<StartHttpServer>(modules::kHttp, kStartHttpServer)(options, handler, &why));
  if (server == nullptr) throw RequestError(why);
  return server;
}

}  // namespace veche::web
