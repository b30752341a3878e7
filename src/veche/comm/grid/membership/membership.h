#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/base/module/module_api.h"
#include "veche/comm/grid/member.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/comm/views.h"

namespace veche::grid {

// What the members of a view have agreed on. Nobody is in it who has not said how far it has come.
struct AgreedView {
  MembershipView membership;
  std::vector<std::vector<NodeStatus>> statuses;  // by seat, then by the member's nodes
  bool operator==(const AgreedView&) const = default;
};

// What lets a newcomer in, as the member knows it to whom it was shown.
struct Invitation {
  std::string id;          // the key in MembershipView::invitations_used; empty: no use is spent
  std::uint32_t uses = 0;  // for how many members it is good
  bool operator==(const Invitation&) const = default;
};

struct MembershipOptions {
  Time retry{0.25};    // what was not answered is sent again
  Time takeover{0.5};  // of silence of who is changing the view, before the next one tries; half random
  Time timeout{5};     // with who is linked but does not promise, or is missed by a few only
  Time gather{1};      // newcomers wait for each other, to share a view
  Time fork_after{0};  // of being cut off; 0: waits for ever (grid.partition = "wait")
  // Whether a revocation was signed by who may: it came from somebody else.
  std::function<bool(const MemberId&, std::span<const std::uint8_t>)> genuine;
};

// The membership of one process in a run: who takes part, agreed view by view. Pure: no socket, no clock, no
// thread. The caller feeds it what happens, takes the output after each input and acts on it in this order:
// `persist` is synced into the run's folder, then the messages are sent, then the rest. If it cannot be
// synced, nothing of that output may be sent. Messages may be lost, repeated, late and out of order; those to
// somebody without a link are dropped. `now` never goes back.
//
// In words: view k+1 is agreed by the members of view k, single-decree Paxos for each number. A change is
// wanted when somebody is lost (a majority of up to 5 observers miss it), leaves, is revoked, has caught up,
// or has stopped training. The lowest seat alive prepares: everybody freezes, tells how far it has come and
// promises; those who promised make up the next view. docs/grid-membership.md has it in full.
//
// A quorum is more than half of the members of a view, or exactly half with seat 0: two of them have a member
// in common, as with two votes for each and one more for seat 0 each has at least n+1 of 2n+1 votes.
class VECHE_MODULE_API Membership {
 public:
  struct Envelope {
    MemberId to;
    Bytes bytes;
  };
  struct Revocation {
    MemberId id;
    Bytes signed_bytes;
  };
  struct Output {
    Bytes persist;  // replaces what was stored before; empty: nothing to store
    std::vector<Envelope> messages;
    bool freeze = false;                  // stop training in the present view, then call `frozen`
    std::optional<AgreedView> installed;  // this member is in it: training goes on there
    bool removed = false;                 // the members went on without this one (or it has left)
    std::vector<Revocation> revoked;      // new and genuine: close their links, refuse them from now on
    std::optional<std::string> refused;   // a newcomer is told why it is not let in
    std::optional<std::uint64_t> ended;   // whoever asks to be let in is told after which step the run ended
  };

  // `self.incarnation` is larger than in any life before (the time, say): that is how others know that one
  // who lost what it stored has forgotten its promises. It is raised above what is stored. `stored` is what
  // this member last persisted, empty on its first start or where it was lost: it then has no vote until it
  // is let in anew. Throws RequestError where it is damaged or of another run.
  Membership(std::uint64_t run, Member self, Bytes stored, MembershipOptions options, std::uint64_t seed);
  ~Membership();
  Membership(Membership&&) noexcept;

  // Ways in, one of them, after construction or after `removed`:
  // The first member of a new run: installs view 1 at once.
  void found(const std::vector<NodeStatus>& status, Time now);
  // Asks to be let in, having caught up and being linked to the members; repeated by itself until it is in.
  // Also after a restart: when a quorum of the last view has called it, a view is formed of those. `link_up`
  // is called for the links that there are.
  void ready(const std::vector<NodeStatus>& status, Time now);
  // At a member: this newcomer has shown an invitation. Needed once for an id that was never in a view.
  void vouch(const MemberId& newcomer, const Invitation& invitation, Time now);

  // What happens to links, by the engine's measure. A closed link that is made again at once is none that
  // was down. All links are down at first; members of a new view have `timeout` to make theirs.
  void link_up(const MemberId& peer, Time now);
  void link_down(const MemberId& peer, Time now);
  void received(const MemberId& from, std::span<const std::uint8_t> bytes, Time now);  // damaged: ignored
  void tick(Time now);  // at next_tick() or later

  // Training has stopped in the present view; by itself or because of `freeze`.
  void frozen(const std::vector<NodeStatus>& status, Time now);
  // The run has ended after so many steps: tells so whoever asks to be let in, also after `leave`.
  void end(std::uint64_t step, Time now);
  // Wants to go: `removed` follows when the others have agreed. Who has no time closes its links.
  void leave(Time now);
  void revoke(const MemberId& id, Bytes signed_bytes, Time now);
  // By a person's order (--force): those who are linked go on without a quorum, as a new lineage.
  void force(Time now);

  // What the next view shall say of this member.
  void describe(std::vector<std::string> addresses, double speed);
  void set_timeout(Time timeout);  // from what was measured; instead of the option

  Output take();  // since the last call

  Time next_tick() const;                 // kForever: nothing to wait for
  bool cut_off() const;                   // no quorum of the present view is linked: waits
  bool in() const;                        // a member of the present view
  bool others_stay() const;               // some member of the present view is linked and does not leave
  const Member& self() const;             // with its present incarnation
  const MembershipView& present() const;  // the newest view known; number 0: none yet

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veche::grid
