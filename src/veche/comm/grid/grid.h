#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/member.h"
#include "veche/comm/views.h"

namespace veche::grid {

class Directory;

// How this process takes part in a run.
struct GridOptions {
  std::filesystem::path folder;        // the run's; keys, certificates and what was promised lie in its grid/
  std::string name;                    // of this member, for people; empty: the host's
  std::uint32_t nodes = 1;             // that live in this process
  int slots = 0;                       // how many of them compute at a time; 0: as many as there are cores
  std::string listen = "0.0.0.0:0";    // HOST:PORT; port 0: any
  std::vector<std::string> addresses;  // HOST:PORT that others are told; empty: those of this host
  bool relay = false;                  // joins members that cannot reach each other (grid.relay)
  bool multicast = true;               // members of the local network find each other (grid.multicast)
  bool upnp = false;                   // asks the router for a port (grid.upnp)
  std::string dht;  // HOST:PORT,... by which OpenDHT is reached (grid.dht); empty: it is not
  std::shared_ptr<Directory> directory;  // which then is here; made by `found`, `join` and `resume`
  Time gather{1};                        // newcomers wait so long for each other, to share a change of view
  bool approve = false;  // newcomers wait until somebody says admit() (grid.admit = "approved")
  bool fork = false;     // a minority that is cut off goes on by itself (grid.partition = "fork")
  bool force = false;    // resume: goes on without a quorum of the last view
  const std::atomic<bool>* interrupted = nullptr;        // set it to leave while this member waits
  std::function<void(const std::string& sentence)> say;  // what people should know; by any thread
  // Who joins: sets here what the run's configuration decides, `folder` too, before anything is written and
  // before anybody hears of this member.
  std::function<void(const std::string& configuration, GridOptions& options)> configured;
};

// For whom an invitation is good.
struct Terms {
  std::uint32_t uses = 5;
  std::chrono::seconds valid = std::chrono::hours(24);
};

// How a member does, as this one knows it.
struct MemberStatus {
  Member member;
  int seat = -1;      // in the present view; none: it is on its way in
  std::string state;  // "here", "linked", "silent", "coming", "waits for approval"
  double since = 0;   // seconds since 1970
  std::uint64_t step = 0;
  std::string address;     // that the link goes to
  double round_trip = 0;   // seconds, of the last heartbeat
  std::uint64_t sent = 0;  // bytes over the link, and those that came
  std::uint64_t received = 0;
};

struct Status {
  std::uint64_t run = 0, view = 0, first_step = 0;
  std::vector<MemberStatus> members;
};

// This process as a member of a run: its key, its links to the others, and the views that they agree on. Any
// thread, unless said otherwise. What is wrong with a request throws RequestError; what fails, RunError. Its
// end closes all links: `views().leave()` before is the polite way.
class Grid {
 public:
  virtual ~Grid() = default;

  virtual MemberId me() const = 0;
  // What `found` was given: the configuration of the run, the same for everybody.
  virtual const std::string& configuration() const = 0;
  // One thread. A newcomer's first `next` says that it has caught up with the state and may be let in. Inside
  // a view, PeerLost says that a node there has ended by itself: go on with `next` as after ViewChanged.
  virtual Views& views() = 0;

  virtual Status status() const = 0;
  // What the others shall know of this member, from time to time; `epochs`: passes over the data.
  virtual void report(std::uint64_t step, double speed, double epochs) = 0;
  // One line of text, to be given to people.
  virtual std::string invite(const Terms& terms) = 0;
  // The links of the member close everywhere and it comes in no more. `id`: the first digits are enough.
  virtual void revoke(const std::string& id) = 0;
  // Lets in a newcomer that waits for approval.
  virtual void admit(const std::string& id) = 0;

  // Pieces of state, by name: what others fetch here is asked of `serve`, by a thread of its own; nothing: it
  // is not there (any more). A piece has at most kMostOfAPiece bytes.
  using Serve = std::function<std::optional<Message>(const std::string& name, std::uint64_t offset,
                                                     std::uint32_t length)>;
  virtual void serve(Serve serve) = 0;
  // Who can be asked now: linked members of the present view.
  virtual std::vector<MemberId> donors() const = 0;
  // Nothing: the member is gone, has not got it, or did not answer within `limit`. Any number at a time.
  virtual std::optional<Message> fetch(const MemberId& from, const std::string& name, std::uint64_t offset,
                                       std::uint32_t length, Time limit) = 0;
  // Many at once, one thread: what is asked for comes as it arrives.
  class Fetches {
   public:
    struct Answer {
      std::uint64_t id = 0;
      std::optional<Message> message;
    };
    virtual ~Fetches() = default;
    virtual void ask(std::uint64_t id, const MemberId& from, const std::string& name, std::uint64_t offset,
                     std::uint32_t length) = 0;
    virtual std::optional<Answer> next(Time limit) = 0;  // nothing: none has come by then
  };
  virtual std::unique_ptr<Fetches> fetches() = 0;

  // After `views().end()` and `views().leave()`: waits until those who are on their way in have fetched what
  // they want and have gone, at most so long. Told by `say` that it does.
  virtual void see_off(Time most) = 0;
};
inline constexpr std::uint32_t kMostOfAPiece = 1U << 20;

// The engine is a module: throws RequestError where it is missing.
// Founds a run: this process is its only member, seat 0 of view 1. `configuration` is what newcomers get.
std::unique_ptr<Grid> found(const GridOptions& options, const std::string& configuration);
// Joins by an invitation. Returns when this process has its certificate and the configuration.
std::unique_ptr<Grid> join(const GridOptions& options, const std::string& invitation);
// Comes back with what lies in the folder: into the run that goes on, or together with a quorum of the last
// view.
std::unique_ptr<Grid> resume(const GridOptions& options);

// What another process asks of the member that runs in this folder. Throw RequestError where none does.
Status status_of(const std::filesystem::path& folder);
std::string invite_by(const std::filesystem::path& folder, const Terms& terms);
void revoke_by(const std::filesystem::path& folder, const std::string& id);
void admit_by(const std::filesystem::path& folder, const std::string& id);

}  // namespace veche::grid
