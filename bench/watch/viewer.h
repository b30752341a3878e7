#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

namespace veche {

// Acts like a browser with the live page open: receives events and fetches what they announce.
// Discards the answers: drawing happens on another machine.
class Viewer {
 public:
  Viewer(int port, std::string run);
  ~Viewer();  // closes the connection
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // Number of versions announced and fetched. Any thread.
  std::size_t updates() const { return updates_; }
  // The system's id of its thread; 0 before it runs.
  int thread() const { return number_; }

 private:
  void watch(int port);

  const std::string run_;
  const int events_;  // the persistent connection
  std::atomic<std::size_t> updates_ = 0;
  std::atomic<int> number_ = 0;
  std::thread thread_;  // declared last
};

}  // namespace veche
