#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"

namespace veche {

// Tells at once when a rank of a job has ended without a word: killed, crashed, its host gone. MPI itself may
// wait for ever for such a rank. Carries a rank's failure to all others as quickly, wherever they are. Every
// rank holds a socket to rank 0, which the system closes with the process; rank 0 passes the failure on.
// Where sockets cannot be opened there is none, and the launcher is left to notice.
class Lifeline {
 public:
  // A rank that cannot go on, the number of the exchange in which it will say so, and its words.
  struct FailureReport {
    int rank = 0;
    std::uint64_t exchange = 0;
    std::string report;
  };

  // All by a thread of the lifeline's.
  struct Calls {
    std::function<void(int rank)> lost;                            // at most once
    std::function<void(const FailureReport& failure)> has_failed;  // another rank
    std::function<void()> heartbeat;                               // ten times a second
  };

  // Rank 0: where the others find it, to be handed to them.
  static std::string listen(int& socket);

  // Rank 0 with its listening socket, the others with what it handed to them (socket is -1). Rank 0 returns
  // when all have come or after a few seconds.
  Lifeline(int rank, int ranks, int socket, const std::string& where, Calls calls);
  // Says goodbye: those that end later are no loss.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // This rank cannot go on. Any thread.
  void tell(const FailureReport& failure);

 private:
  struct Line {
    int rank = 0;
    int socket = -1;
  };

  void accept_all(int listener, int ranks, const std::string& word);
  void connect_to_first(int rank, const std::string& where);
  void watch(const std::stop_token& stop);
  // To all lines but that of this rank.
  void send_all(std::int32_t kind, const FailureReport& failure, int except);

  const Calls calls_;
  std::vector<Line> lines_;  // constant once made
  Mutex sending_;            // one frame after the other
  std::jthread watcher_;
};

}  // namespace veche
