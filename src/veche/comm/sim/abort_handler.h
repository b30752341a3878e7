#pragma once

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

namespace veche {

// While it lives, if SimGrid ends the process (the trial run does not find every problem), a
// sentence is printed beside SimGrid's own, and the exit code is that of a failed run.
class SimGridAbortHandler {
 public:
  explicit SimGridAbortHandler(const std::string& platform) {
    if (platform.empty()) return;
    sentence() = "veche: network.platform = \"" + platform + "\": SimGrid gave up for the reason above\n";
    struct sigaction action {};
    action.sa_handler = [](int) {
      if (::write(STDERR_FILENO, sentence().data(), sentence().size()) < 0) ::_exit(1);
      ::_exit(1);
    };
    installed_ = ::sigaction(SIGABRT, &action, &before_) == 0;
  }
  ~SimGridAbortHandler() {
    if (installed_) ::sigaction(SIGABRT, &before_, nullptr);
  }
  SimGridAbortHandler(const SimGridAbortHandler&) = delete;
  SimGridAbortHandler& operator=(const SimGridAbortHandler&) = delete;

 private:
  static std::string& sentence() {
    static std::string text;
    return text;
  }

  bool installed_ = false;
  struct sigaction before_ {};
};

}  // namespace veche
