#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

namespace veche {

// What a browser with the live page open asks a server on this machine: hears its events, and fetches what
// they say is new. Reads answers and throws them away: drawing is another machine's work.
class Viewer {
 public:
  Viewer(int port, std::string run);
  ~Viewer();  // hangs up
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // Versions that it has heard of and fetched; any thread.
  std::size_t updates() const { return updates_; }
  // The system's number of its thread, once it runs: 0 before.
  int thread() const { return number_; }

 private:
  void watch(int port);

  const std::string run_;
  const int events_;  // the connection that stays
  std::atomic<std::size_t> updates_ = 0;
  std::atomic<int> number_ = 0;
  std::thread thread_;  // the last
};

}  // namespace veche
