#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "web/guard.h"
#include "web/http/http.h"

namespace veche::web {

// What every service of a trained model does: refuses requests that the guard refuses, and
// counts its answers for Prometheus.
class CountedService : public HttpHandler {
 public:
  std::optional<HttpReply> admit(const HttpRequest& head) final {
    auto reply = guard_.refuses(head);
    if (!reply) reply = route(head);
    if (reply) return counted(std::move(*reply));
    return std::nullopt;
  }
  HttpReply refused(int status) final { return counted(refusal_of_server(status, HttpOptions().most_body)); }

 protected:
  explicit CountedService(Guard guard) : guard_(std::move(guard)) {}

  // The answer if the headers alone decide; nullopt if a body follows.
  virtual std::optional<HttpReply> route(const HttpRequest& head) = 0;

  HttpReply counted(HttpReply reply) {
    ++by_status_[static_cast<std::size_t>(std::clamp(reply.status / 100, 0, 5))];
    return reply;
  }

  // The head of a metric: its name, "counter" or "gauge" or "histogram", and what it counts.
  static std::string family(const char* name, const char* kind, const char* help) {
    return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, kind, help);
  }
  std::string requests_by_status() const {
    std::string text =
        family("veche_http_requests_total", "counter", "Requests answered, by the hundreds of their status.");
    for (std::size_t hundreds = 1; hundreds < by_status_.size(); ++hundreds)
      text += fmt::format("veche_http_requests_total{{status=\"{}xx\"}} {}\n", hundreds,
                          by_status_[hundreds].load());
    return text;
  }

 private:
  const Guard guard_;
  std::array<std::atomic<std::uint64_t>, 6> by_status_{};  // by hundreds of the status
};

}  // namespace veche::web
