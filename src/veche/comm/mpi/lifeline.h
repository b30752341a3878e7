#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace veche {

// Tells at once when a rank of a job has ended without a word: killed, crashed, its host gone. MPI itself may
// wait for ever for such a rank. Every rank holds a socket to rank 0, which the system closes with the
// process; rank 0 passes the news on. Where sockets cannot be opened there is none, and the launcher is left
// to notice.
class Lifeline {
 public:
  // Rank 0: where the others find it, to be handed to them.
  static std::string listen(int& socket);

  // Rank 0 with its listening socket, the others with what it handed to them (socket is -1). Rank 0 returns
  // when all have come or after a few seconds. `lost` is called at most once, by a thread of the lifeline's.
  Lifeline(int rank, int ranks, int socket, const std::string& where, std::function<void(int rank)> lost);
  // Says farewell: those that end later are no loss.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

 private:
  struct Line {
    int rank = 0;
    int socket = -1;
  };

  void accept_all(int listener, int ranks, const std::string& word);
  void connect_to_first(int rank, const std::string& where);
  void watch(const std::stop_token& stop);

  std::function<void(int)> lost_;
  std::vector<Line> lines_;  // constant once made
  std::jthread watcher_;
};

}  // namespace veche
