#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

namespace veche {

// A Python child process that answers JSON lines with JSON lines. Throws RunError, naming what to
// install, if it exits, answers with {"error": ...} or is silent for minutes. One thread.
class Peer {
 public:
  // Takes the program's text, not its path: it is embedded in our binary. `package` is the Debian
  // package it needs.
  Peer(const std::string& python, const std::string& program, std::string package);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  nlohmann::json ask(const nlohmann::json& request);

 private:
  std::string read_line();
  [[noreturn]] void fail(const std::string& what) const;

  const std::string package_;
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string received_;  // after the last complete line
};

}  // namespace veche
