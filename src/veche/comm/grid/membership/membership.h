#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/base/module_api.h"
#include "veche/comm/grid/member.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/comm/views.h"

namespace veche::grid {

// A view that its members have agreed on. It contains only members that have reported their status.
struct AgreedView {
  MembershipView membership;
  std::vector<std::vector<NodeStatus>> statuses;  // by seat, then by the member's nodes
  bool operator==(const AgreedView&) const = default;
};

// An invitation that admits a newcomer, as known by the member to which it was shown.
struct Invitation {
  std::string id;          // key in MembershipView::invitations_used; empty: not counted
  std::uint32_t uses = 0;  // number of members it admits
  bool operator==(const Invitation&) const = default;
};

struct MembershipOptions {
  Time retry{0.25};    // unanswered messages are sent again after this time
  Time takeover{0.5};  // silence of the current proposer before the next member tries; half of it random
  Time timeout{5};     // for a linked member that does not promise, or is missed by only a few
  Time gather{1};      // newcomers wait for each other, to share a view
  Time fork_after{0};  // after being cut off; 0: waits for ever (grid.partition = "wait")
  // Whether a revocation has a valid signature; it may have been forwarded by another member.
  std::function<bool(const MemberId&, std::span<const std::uint8_t>)> genuine;
};

// The membership of one process in a run, agreed view by view. Pure: no socket, no clock, no
// thread. The caller feeds inputs, takes the output after each input and acts on it in this order:
// sync `persist` to the run's folder, send the messages, then the rest. If the sync fails, nothing
// of that output may be sent. Messages may be lost, repeated, late and out of order; messages to a
// peer without a link are dropped. `now` never goes back.
//
// View k+1 is agreed by the members of view k, by single-decree Paxos for each number. A change is
// wanted when a member is lost (a majority of up to 5 observers miss it), leaves, is revoked, has
// caught up, or has stopped training. The lowest live seat prepares: every member freezes, reports
// its status and promises. The members that promised form the next view. Details:
// docs/grid-membership.md.
//
// A quorum is more than half of the members of a view, or exactly half including seat 0. Any two
// quorums intersect: with two votes per member and one more for seat 0, each has at least n+1 of
// 2n+1 votes.
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
    Bytes persist;  // replaces the stored state; empty: nothing to store
    std::vector<Envelope> messages;
    bool freeze = false;                  // stop training in the current view, then call `frozen`
    std::optional<AgreedView> installed;  // this member is in the view: training continues there
    bool removed = false;                 // the view no longer includes this member (or it has left)
    std::vector<Revocation> revoked;      // new and genuine: close their links and refuse them from now on
    std::optional<std::string> refused;   // why this newcomer is not admitted
    std::optional<std::uint64_t> ended;   // the run ended after this step; answer to a newcomer
  };

  // `self.incarnation` must be larger than in any earlier life (the time, for example): it tells
  // other members that a member which lost its stored state has forgotten its promises. It is
  // raised above the stored one. `stored` is the last persisted state; empty on the first start or
  // if it was lost, and then the member has no vote until it is admitted again. Throws RequestError
  // if it is damaged or of another run.
  Membership(std::uint64_t run, Member self, Bytes stored, MembershipOptions options, std::uint64_t seed);
  ~Membership();
  Membership(Membership&&) noexcept;

  // Ways to enter; one of them, after construction or after `removed`.
  //
  // The first member of a new run: installs view 1 at once.
  void found(const std::vector<NodeStatus>& status, Time now);
  // Asks to be admitted, having caught up and being linked to the members; repeats itself until
  // admitted. Also after a restart: when a quorum of the last view has called it, these members
  // form a view. Call `link_up` for the existing links.
  void ready(const std::vector<NodeStatus>& status, Time now);
  // At a member: this newcomer has shown an invitation. Needed once for an id that was never in a
  // view.
  void vouch(const MemberId& newcomer, const Invitation& invitation, Time now);

  // Link changes, as the engine sees them. A closed link that is restored at once does not count as
  // down. All links are down at first; members of a new view have `timeout` to connect.
  void link_up(const MemberId& peer, Time now);
  void link_down(const MemberId& peer, Time now);
  // ignores damaged messages
  void received(const MemberId& from, std::span<const std::uint8_t> bytes, Time now);
  void tick(Time now);  // at next_tick() or later

  // Training has stopped in the current view, by itself or because of `freeze`.
  void frozen(const std::vector<NodeStatus>& status, Time now);
  // The run has ended after `step` steps: tells newcomers, also after `leave`.
  void end(std::uint64_t step, Time now);
  // Asks to leave: `removed` follows when the others have agreed. A member in a hurry closes its
  // links instead.
  void leave(Time now);
  void revoke(const MemberId& id, Bytes signed_bytes, Time now);
  // By a person's order (--force): the linked members continue without a quorum, as a new lineage.
  void force(Time now);

  // What the next view should say about this member.
  void describe(std::vector<std::string> addresses, double speed);
  void set_timeout(Time timeout);  // measured; replaces the option

  Output take();  // since the last call

  Time next_tick() const;                 // kForever: nothing to wait for
  bool cut_off() const;                   // no quorum of the current view is linked: waits
  bool in() const;                        // a member of the current view
  bool others_stay() const;               // some member of the current view is linked and does not leave
  const Member& self() const;             // with its current incarnation
  const MembershipView& present() const;  // the newest known view; number 0: none yet

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veche::grid
