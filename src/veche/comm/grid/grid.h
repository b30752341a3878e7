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
  std::filesystem::path folder;          // of the run; its grid/ holds keys, certificates and promises
  std::string name;                      // of this member, for people; empty: the host name
  std::uint32_t nodes = 1;               // of this process
  int slots = 0;                         // nodes that compute at a time; 0: one per core
  std::string listen = "0.0.0.0:0";      // HOST:PORT; port 0: any
  std::vector<std::string> addresses;    // HOST:PORT told to others; empty: those of this host
  bool relay = false;                    // connects members that cannot reach each other (grid.relay)
  bool multicast = true;                 // members on the local network find each other (grid.multicast)
  bool upnp = false;                     // requests a port from the router (grid.upnp)
  std::string dht;                       // HOST:PORT,... to bootstrap OpenDHT (grid.dht); empty: not used
  std::shared_ptr<Directory> directory;  // the DHT, created by `found`, `join` and `resume`
  Time gather{1};                        // newcomers wait for each other, to share one change of view
  bool approve = false;                  // newcomers wait for admit() (grid.admit = "approved")
  bool fork = false;                     // a minority that is cut off goes on (grid.partition = "fork")
  bool force = false;                    // resume: continues without a quorum of the last view
  const std::atomic<bool>* interrupted = nullptr;        // set it to leave while this member waits
  std::function<void(const std::string& sentence)> say;  // messages for people; any thread
  // When joining: sets the options that the run's configuration decides, also `folder`, before
  // anything is written and before other members hear of this one.
  std::function<void(const std::string& configuration, GridOptions& options)> configured;
};

// Limits of an invitation.
struct Terms {
  std::uint32_t uses = 5;
  std::chrono::seconds valid = std::chrono::hours(24);
};

// The state of a member, as this one knows it.
struct MemberStatus {
  Member member;
  int seat = -1;      // in the present view; negative: it is joining
  std::string state;  // "here", "linked", "silent", "coming", "waits for approval"
  double since = 0;   // seconds since 1970
  std::uint64_t step = 0;
  std::string address;     // of the link
  double round_trip = 0;   // seconds, of the last heartbeat
  std::uint64_t sent = 0;  // bytes over the link, in both directions
  std::uint64_t received = 0;
};

struct Status {
  std::uint64_t run = 0, view = 0, first_step = 0;
  std::vector<MemberStatus> members;
};

// This process as a member of a run: its key, its links to other members, and the views that the
// members agree on. Thread-safe, unless said otherwise. Wrong requests throw RequestError, failures
// RunError. The destructor closes all links: call `views().leave()` before.
class Grid {
 public:
  virtual ~Grid() = default;

  virtual MemberId me() const = 0;
  // The configuration given to `found`, the same for all members.
  virtual const std::string& configuration() const = 0;
  // One thread. A newcomer's first `next` says that it has caught up with the state and can join a
  // view. Inside a view, PeerLost says that a node has ended by itself: call `next`, as after
  // ViewChanged.
  virtual Views& views() = 0;

  virtual Status status() const = 0;
  // Progress of this member for the others to see; `epochs`: passes over the data.
  virtual void report(std::uint64_t step, double speed, double epochs) = 0;
  // An invitation: one line of text.
  virtual std::string invite(const Terms& terms) = 0;
  // Excludes a member for ever: all members close their links to it. `id`: the first digits
  // suffice.
  virtual void revoke(const std::string& id) = 0;
  // Admits a newcomer that waits for approval.
  virtual void admit(const std::string& id) = 0;

  // Pieces of state, by name: `serve` is called, on a thread of its own, for every piece that
  // others fetch here; nothing: there is no such piece (any more). A piece has at most
  // kMostOfAPiece bytes.
  using Serve = std::function<std::optional<Message>(const std::string& name, std::uint64_t offset,
                                                     std::uint32_t length)>;
  virtual void serve(Serve serve) = 0;
  // The members that can be asked now: linked members of the present view.
  virtual std::vector<MemberId> donors() const = 0;
  // Nothing: the member is lost, does not have the piece, or did not answer within `limit`. Any
  // number of calls at a time.
  virtual std::optional<Message> fetch(const MemberId& from, const std::string& name, std::uint64_t offset,
                                       std::uint32_t length, Time limit) = 0;
  // Many requests at once, by one thread; answers come in the order of arrival.
  class Fetches {
   public:
    struct Answer {
      std::uint64_t id = 0;
      std::optional<Message> message;
    };
    virtual ~Fetches() = default;
    virtual void ask(std::uint64_t id, const MemberId& from, const std::string& name, std::uint64_t offset,
                     std::uint32_t length) = 0;
    virtual std::optional<Answer> next(Time limit) = 0;  // nothing: none arrived in time
  };
  virtual std::unique_ptr<Fetches> fetches() = 0;

  // After `views().end()` and `views().leave()`: waits, at most `most`, until joining members have
  // fetched what they need and have gone. Says so by `say`.
  virtual void wait_for_newcomers(Time most) = 0;
};
inline constexpr std::uint32_t kMostOfAPiece = 1U << 20;

// The engine is a module: throws RequestError where it is missing. Founds a run: this process is
// its only member, seat 0 of view 1. Newcomers get the `configuration`.
std::unique_ptr<Grid> found(const GridOptions& options, const std::string& configuration);
// Joins by an invitation. Returns when this process has its certificate and the configuration of
// the run.
std::unique_ptr<Grid> join(const GridOptions& options, const std::string& invitation);
// Returns to a run with the files of the folder: into a run that goes on, or together with a quorum
// of the last view.
std::unique_ptr<Grid> resume(const GridOptions& options);

// Requests of another process to the member that runs in this folder. Throw RequestError where none
// runs.
Status status_of(const std::filesystem::path& folder);
std::string invite_by(const std::filesystem::path& folder, const Terms& terms);
void revoke_by(const std::filesystem::path& folder, const std::string& id);
void admit_by(const std::filesystem::path& folder, const std::string& id);

}  // namespace veche::grid
