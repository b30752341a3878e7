#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <string>

#include "web/guard.h"
#include "web/http/http.h"

namespace veche::cli {

// The options that all commands share which serve pages.
struct ServingArguments {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string token;
};

void add_serving_options(CLI::App& command, ServingArguments& arguments, int usual_port);
// Has a token, given or new, where other machines may connect.
web::Guard guard_of(const ServingArguments& arguments);

// `options` without host and port, which the arguments hold.
std::unique_ptr<web::HttpServer> start_serving(const ServingArguments& arguments, web::HttpOptions options,
                                               web::HttpHandler& handler);

// Prints the address, the only line on standard output, and serves until `stopped`.
void serve_until_stopped(const ServingArguments& arguments, const web::Guard& guard,
                         const web::HttpOptions& options, web::HttpHandler& handler, const std::string& what,
                         const std::atomic<bool>& stopped);

}  // namespace veche::cli
