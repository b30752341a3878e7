#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"

namespace veche {

// Detects at once when a rank of a job dies: killed, crashed, its host gone. MPI itself may wait
// for ever for such a rank. Also carries a rank's failure to all others as quickly, wherever they
// are. Every rank holds a socket to rank 0, which the system closes with the process; rank 0
// forwards failures. If sockets cannot be opened, there is no lifeline, and the launcher must
// notice.
class Lifeline {
 public:
  // A rank that cannot continue, the number of the exchange in which it will say so, and its
  // message.
  struct FailureReport {
    int rank = 0;
    std::uint64_t exchange = 0;
    std::string report;
  };

  // All called on a thread of the lifeline.
  struct Calls {
    std::function<void(int rank)> lost;                            // at most once
    std::function<void(const FailureReport& failure)> has_failed;  // another rank
    std::function<void()> heartbeat;                               // ten times a second
  };

  // Rank 0: opens the socket; returns the address for the other ranks.
  static std::string listen(int& socket);

  // Rank 0 passes its listening socket, the others the address from it (socket is -1). Rank 0
  // returns when all have connected or after a few seconds.
  Lifeline(int rank, int ranks, int socket, const std::string& where, Calls calls);
  // Says goodbye: ranks that end later are not lost.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // This rank cannot continue. Any thread.
  void tell(const FailureReport& failure);

 private:
  struct Line {
    int rank = 0;
    int socket = -1;
  };

  void accept_all(int listener, int ranks, const std::string& word);
  void connect_to_first(int rank, const std::string& where);
  void watch(const std::stop_token& stop);
  // To all lines except that of this rank.
  void send_all(std::int32_t kind, const FailureReport& failure, int except);

  const Calls calls_;
  std::vector<Line> lines_;  // constant after construction
  Mutex sending_;            // one frame at a time
  std::jthread watcher_;
};

}  // namespace veche
