#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "web/guard.h"
#include "web/http/http.h"
#include "web/watch/follower.h"

namespace veche::web {

// The live page of running or finished runs (docs/watching.md):
//   GET /           the page
//   GET /api/runs   their names
//   GET /api/about, /api/graph, /api/series, /api/nodes, /api/now  ?run=NAME: the data of one run
//   GET /api/columns ?run=NAME&what=MEASURE: of every node, as floats (RunFollower::column_of_nodes)
//   GET /api/events server-sent events: which of these has a new version
//   GET /health     whether it answers
// One thread reads the folders twice a second, independent of the number of viewers. Each answer is
// made once per version.
class WatchService : public HttpHandler {
 public:
  // Requests have no body, and answers are short.
  static HttpOptions http_options() {
    return {.most_body = 0, .threads = 4, .to_end = std::chrono::milliseconds(0)};
  }
  // A run's folder, or a folder of runs; runs that are added later are found too. Throws
  // RequestError.
  WatchService(const std::vector<std::filesystem::path>& places, Guard guard);
  ~WatchService() override;
  WatchService(const WatchService&) = delete;
  WatchService& operator=(const WatchService&) = delete;

  std::optional<HttpReply> admit(const HttpRequest& head) override;
  HttpReply answer(const HttpRequest& request) override;
  HttpReply refused(int status) override { return refusal_of_server(status, 0); }
  bool empty() const;  // no run found so far

 private:
  struct Watched {
    explicit Watched(const std::filesystem::path& folder) : follower(folder) {}
    RunFollower follower;
    std::map<std::string, std::pair<std::uint64_t, std::string>> made;  // answers, by kind and version
  };
  // What viewers receive about all runs.
  struct Told {
    std::uint64_t version = 0;
    std::size_t runs = 0;
    std::string text;
  };
  void look();
  bool look_for_runs() VECHE_REQUIRES(mutex_);
  void tell() VECHE_REQUIRES(mutex_);
  std::shared_ptr<const Told> told() const;
  std::function<std::string()> events() const;

  const std::vector<std::filesystem::path> places_;
  const Guard guard_;

  // Never held while folders are read: `admit` must not block.
  mutable Mutex told_mutex_;
  std::shared_ptr<const Told> told_ VECHE_GUARDED_BY(told_mutex_) = std::make_shared<Told>();

  Mutex mutex_;
  ConditionVariable end_;
  std::map<std::string, std::unique_ptr<Watched>> runs_ VECHE_GUARDED_BY(mutex_);  // by name
  std::map<std::string, std::string> names_ VECHE_GUARDED_BY(mutex_);              // of folders
  bool stopping_ VECHE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last
};

}  // namespace veche::web
