#pragma once

#include <string>

namespace veche::cli {

// `veche topology --network CONFIG`: the simulated network that a configuration describes, as a table, JSON
// or a picture. Throws RequestError for a platform of SimGrid's, which is not read here.
struct NetworkQuestion {
  std::string config;
  bool json = false;
  std::string svg, png;
};
void show_network(const NetworkQuestion& question);

}  // namespace veche::cli
