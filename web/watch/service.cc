#include "web/watch/service.h"

#include <fmt/format.h>

#include <chrono>

#include "veche/errors.h"

namespace veche::web {

extern const char kWatchPage[];  // page.html with the bundle inside

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 400ms;
constexpr auto kBetweenPieces = 5ms;  // between chunks of a long history, so that others get a turn
constexpr auto kBetweenSigns = 1s;    // between keep-alive events
constexpr std::size_t kSeriesRows = 600, kNodeRows = 200;
constexpr std::size_t kMostRuns = 200;

bool is_run(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / "config.toml", unknown);
}

std::string json_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

WatchService::WatchService(const std::vector<fs::path>& places, Guard guard)
    : places_(places), guard_(std::move(guard)) {
  for (const fs::path& place : places) {
    std::error_code unknown;
    if (!fs::is_directory(place, unknown))
      throw RequestError(
          fmt::format("there is no folder '{}': name that of a run, such as runs/NAME", place.string()));
    if (is_run(place)) const RunFollower readable(place);
  }
  // No other thread yet: the mutex need not be held.
  look_for_runs();
  tell();
  thread_ = std::thread([this] { look(); });
}

WatchService::~WatchService() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  end_.notify_all();
  thread_.join();
}

bool WatchService::empty() const { return told()->runs == 0; }

bool WatchService::look_for_runs() {
  bool found = false;
  const auto add = [&](const fs::path& folder) VECHE_REQUIRES(mutex_) {
    if (names_.contains(folder.string()) || runs_.size() >= kMostRuns) return;
    try {
      auto run = std::make_unique<Watched>(folder);
      std::string name = run->follower.name();
      for (int i = 2; runs_.contains(name); ++i) name = fmt::format("{} ({})", run->follower.name(), i);
      names_.emplace(folder.string(), name);
      runs_.emplace(name, std::move(run));
      found = true;
    } catch (const Error&) {  // its configuration is being written
    }
  };
  for (const fs::path& place : places_) {
    std::error_code unknown;
    if (is_run(place)) {
      add(place);
      continue;
    }
    for (fs::directory_iterator at(place, unknown), end; !unknown && at != end; at.increment(unknown))
      if (is_run(at->path())) add(at->path());
  }
  return found;
}

void WatchService::look() {
  const MutexLock lock(mutex_);
  bool behind = true;
  while (!end_.wait_for(mutex_, behind ? kBetweenPieces : kBetweenLooks,
                        [&]() VECHE_REQUIRES(mutex_) { return stopping_; })) {
    bool changed = look_for_runs();
    behind = false;
    for (auto& [name, run] : runs_) {
      changed |= run->follower.poll();
      behind |= run->follower.behind();
    }
    if (changed) tell();
  }
}

void WatchService::tell() {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, run] : runs_)
    json[name] = {run->follower.progress_version(), run->follower.nodes_version(), run->follower.ended(),
                  run->follower.now_version(), run->follower.graph_version()};
  auto now = std::make_shared<const Told>(Told{told()->version + 1, runs_.size(), json_of(json)});
  const MutexLock lock(told_mutex_);
  told_ = std::move(now);
}

std::shared_ptr<const WatchService::Told> WatchService::told() const {
  const MutexLock lock(told_mutex_);
  return told_;
}

// The event stream of one viewer.
std::function<std::string()> WatchService::events() const {
  return [this, seen = std::uint64_t{0}, last = std::chrono::steady_clock::time_point()]() mutable {
    const auto news = told();
    const auto now = std::chrono::steady_clock::now();
    if (news->version == seen && now - last < kBetweenSigns) return std::string();
    last = now;
    if (news->version == seen) return std::string(": alive\n\n");
    seen = news->version;
    return "data: " + news->text + "\n\n";
  };
}

HttpReply WatchService::answer(const HttpRequest& request) {
  const MutexLock lock(mutex_);
  const auto found = runs_.find(request.query_value("run"));
  if (found == runs_.end()) return refusal(404, "there is no such run here");
  Watched& run = *found->second;
  const RunFollower& follower = run.follower;
  const std::string what = request.path.substr(5);
  if (what == "columns") {
    HttpReply reply{.type = "application/octet-stream",
                    .body = follower.column_of_nodes(request.query_value("what"), kNodeRows),
                    .headers = {{"Cache-Control", "no-store"}}};
    return reply;
  }
  const std::uint64_t version = what == "about" ? 1
                                : what == "series"
                                    ? follower.progress_version() * 2 + (follower.ended() ? 1 : 0)
                                : what == "now"   ? follower.now_version()
                                : what == "graph" ? follower.graph_version()
                                                  : follower.nodes_version();
  auto& [made_version, text] = run.made[what];
  if (text.empty() || made_version != version) {
    made_version = version;
    nlohmann::json json = what == "about"    ? follower.about()
                          : what == "series" ? follower.series(kSeriesRows)
                          : what == "now"    ? follower.now()
                          : what == "graph"  ? follower.graph()
                                             : follower.nodes(kNodeRows);
    json["name"] = found->first;
    text = json_of(json);
  }
  return {.body = text, .headers = {{"Cache-Control", "no-store"}}};
}

std::optional<HttpReply> WatchService::admit(const HttpRequest& head) {
  if (auto refused = guard_.refuses(head)) return refused;
  if (head.method != "GET" && head.method != "HEAD") {
    HttpReply reply = refusal(405, "this is there to be read: GET it");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  const std::string& path = head.path;
  if (path == "/")
    return HttpReply{.type = "text/html; charset=utf-8", .body = kWatchPage, .headers = page_headers()};
  if (path == "/health")
    return HttpReply{.body = fmt::format("{{\"status\":\"ok\",\"runs\":{}}}\n", told()->runs)};
  if (path == "/api/runs") return HttpReply{.body = told()->text};
  if (path == "/api/events")
    return HttpReply{
        .type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}, .parts = events()};
  if (path == "/api/about" || path == "/api/series" || path == "/api/nodes" || path == "/api/now" ||
      path == "/api/graph" || path == "/api/columns")
    return std::nullopt;
  return refusal(404, "no such page");
}

}  // namespace veche::web
