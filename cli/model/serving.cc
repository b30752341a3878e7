#include "cli/model/serving.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/terminal/output.h"

namespace veche::cli {

void add_serving_options(CLI::App& command, ServingArguments& arguments, int usual_port) {
  arguments.port = usual_port;
  command
      .add_option("--host", arguments.host,
                  "address to listen on; a token is required unless it is a loopback address")
      ->capture_default_str();
  command.add_option("--port", arguments.port, "port; 0: any free port")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--token", arguments.token,
                     "token that clients must send; default: a new one if needed");
}

web::Guard guard_of(const ServingArguments& arguments) {
  std::string token = arguments.token;
  if (token.empty() && !web::is_loopback(arguments.host)) token = web::new_token();
  return {arguments.host, token};
}

std::unique_ptr<web::HttpServer> start_serving(const ServingArguments& arguments, web::HttpOptions options,
                                               web::HttpHandler& handler) {
  options.host = arguments.host;
  options.port = arguments.port;
  return web::start_http_server(options, handler);
}

void serve_until_stopped(const ServingArguments& arguments, const web::Guard& guard,
                         const web::HttpOptions& options, web::HttpHandler& handler, const std::string& what,
                         const std::atomic<bool>& stopped) {
  const auto server = start_serving(arguments, options, handler);
  answer("{}\n", guard.address(server->port()));
  flush_output();
  tell("Serving {}. Ctrl-C ends it.\n", what);
  // Polls, since a signal handler can only set a flag.
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace veche::cli
