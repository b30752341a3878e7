#pragma once

#include <string>

namespace veche::cli {

// `veche topology --network CONFIG`: the simulated network of a configuration as a table, JSON or a
// picture. Throws RequestError for a SimGrid platform file, which is not read here.
struct NetworkQuestion {
  std::string config;
  bool json = false;
  std::string svg, png;
};
void show_network(const NetworkQuestion& question);

}  // namespace veche::cli
