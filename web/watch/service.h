#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "web/guard.h"
#include "web/http/http.h"
#include "web/watch/follower.h"

namespace veche::web {

// The live page of runs (docs/watching.md), under way or ended:
//   GET /           the page
//   GET /api/runs   their names
//   GET /api/about, /api/series, /api/nodes, /api/now  ?run=NAME: what is known of one
//   GET /api/events server-sent events: which of these has a new version
// One thread reads the folders twice a second, whoever watches; answers are made once for each version.
class WatchService {
 public:
  // A run's folder, or one that holds runs' folders; those that come later are found too. Throws
  // RequestError.
  WatchService(const std::vector<std::filesystem::path>& places, Guard guard);
  ~WatchService();
  WatchService(const WatchService&) = delete;
  WatchService& operator=(const WatchService&) = delete;

  HttpReply handle(const HttpRequest& request);  // any thread
  // Streams end soon after; before the server that they belong to.
  void stop();

 private:
  struct Watched {
    explicit Watched(const std::filesystem::path& folder) : follower(folder) {}
    RunFollower follower;
    std::map<std::string, std::pair<std::uint64_t, std::string>> made;  // answers, by what and version
  };
  void look();
  bool look_for_runs();
  std::string versions() const;  // under the lock
  HttpReply answer_of(const HttpRequest& request);
  void stream_events(const Sink& sink);

  const std::vector<std::filesystem::path> places_;
  const Guard guard_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Watched>> runs_;  // by name; guarded by the mutex, as all below
  std::map<std::string, std::string> names_;              // of folders
  std::uint64_t version_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // the last
};

}  // namespace veche::web
