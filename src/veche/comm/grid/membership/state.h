#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "veche/comm/grid/membership/membership.h"
#include "veche/comm/grid/membership/messages.h"
#include "veche/comm/grid/membership/suspicion.h"
#include "veche/random.h"

namespace veche::grid {

// The state and logic of a member, in files by concern: state.cc (inputs, time, output),
// presence.cc (links, lost members), admission.cc (newcomers, revocations), acceptor.cc and
// proposer.cc (the two roles of Paxos), install.cc (the next view, other lineages).
struct Membership::State {
  using Seat = std::uint32_t;

  struct Peer {
    bool up = false;
    Time missed_from{0};            // while it is not up
    std::uint64_t incarnation = 0;  // the newest one heard of
    Time answered{-1e9};            // when it was last told that it is behind
    bool elsewhere = false;         // has continued in another lineage
  };
  // The last report of a member of the current view about members it misses.
  struct Report {
    std::uint64_t sequence = 0;
    bool stopped = false, leaving = false;
    bool heard = false;
  };
  struct Candidate {
    Member member;
    std::vector<NodeStatus> status;
    Time asked, heard;
  };
  struct Voucher {
    Invitation invitation;
    bool own = false;  // given here: repeated until the newcomer is in
  };
  struct Proposal {
    Ballot ballot;
    Time begun, said;
    std::map<MemberId, Promise> promises;
    std::optional<AgreedView> view;  // the second phase
    std::set<Seat> accepted;
  };
  struct Split {  // an attempt to continue without a quorum
    std::uint64_t lineage = 0;
    Time begun, said;
    std::map<MemberId, Follow> follows;
  };

  State(std::uint64_t run, Member self, const Bytes& stored, MembershipOptions options, std::uint64_t seed);

  // state.cc
  void settle(Time now);  // ends every input: acts on everything due, until nothing is
  void act(Time now);
  void wake(Time at) { next = std::min(next, at); }
  void send(const MemberId& to, Body body);
  void send_members(const Body& body);
  void take_in(const MemberId& from, const MembershipMessage& message, Time now);
  ViewId present_id() const { return {present.membership.lineage, present.membership.number}; }
  ViewId next_id() const { return {present.membership.lineage, present.membership.number + 1}; }
  std::size_t seats() const { return present.membership.members.size(); }
  std::optional<Seat> seat_of(const MemberId& id) const;
  bool in() const;
  bool votes() const;  // has a vote on the next view
  std::optional<Seat> voting_seat() const;
  StoredMembership durable() const;

  // presence.cc
  bool missed(Seat seat, Time now) const;
  void update_presence(Time now);  // derives lost, missed and cut_off from links and reports
  bool quorum(const std::set<Seat>& members) const;
  bool quorum_linked(Time now) const;
  bool superseded(Seat seat) const;  // a newer incarnation was heard of
  void greet(const MemberId& id, Time now);
  void miss(const MemberId& id, Time now);
  Observation observation(Time now);
  void send_observation(Time now);
  void say_view(Time now);
  void on(const MemberId& from, const Observation& observation, ViewId there, Time now);

  // admission.cc
  bool admissible(const Candidate& candidate) const;
  void on(const MemberId& from, const Ready& ready, ViewId there, Time now);
  void on(const MemberId& from, const Vouch& vouch, ViewId there, Time now);
  void on(const MemberId& from, const Revoke& revoke, ViewId there, Time now);
  void on(const MemberId& from, const Refused& refused, ViewId there, Time now);
  void on(const MemberId& from, const Ended& ended, ViewId there, Time now);
  void tell_end(std::uint64_t step);
  void ask(const std::vector<NodeStatus>& where, Time now);
  void say_ready(Time now);
  void give_voucher(const MemberId& newcomer, const Invitation& invitation);
  void say_vouchers(Time now);
  void spread(const MemberId& from, const Revoke& revoke);
  void forget_silent_candidates(Time now);
  void refuse_spent();
  bool revoked(const MemberId& id) const;

  // acceptor.cc
  void freeze();
  Time takeover();
  bool yield_to(const MemberId& from, const Ballot& ballot, Time now);
  void promise_if_frozen();
  void on(const MemberId& from, const Prepare& prepare, ViewId there, Time now);
  void on(const MemberId& from, const Accept& accept, ViewId there, Time now);

  // proposer.cc
  bool change_wanted(Time now);
  bool leads(Time now) const;
  void propose_when_due(Time now);
  void propose(Time now);
  void pursue(Time now);
  void finish_first_phase(Time now);
  AgreedView compose() const;
  void on(const MemberId& from, const Promise& promise, ViewId there, Time now);
  void on(const MemberId& from, const Accepted& accepted, ViewId there, Time now);
  void on(const MemberId& from, const Outbid& outbid, ViewId there, Time now);

  // install.cc
  void compare_views(const MemberId& from, Peer& peer, ViewId there, Time now);
  void announce(const AgreedView& view);
  void on(const MemberId& from, const Install& install, ViewId there, Time now);
  void install(const AgreedView& view, Time now);
  void step_out();
  void leave_if_alone();
  bool others_stay() const;
  void split_when_due(Time now);
  void split(Time now);
  void on(const MemberId& from, const Fork& fork, ViewId there, Time now);
  void on(const MemberId& from, const Follow& follow, ViewId there, Time now);

  const std::uint64_t run;
  Member self;
  const MembershipOptions options;
  Time timeout;
  RandomStream random;

  // Durable: written before anything that follows from it is sent.
  std::uint64_t since = 0;
  AgreedView present;
  Ballot promised;
  std::optional<AcceptedView> accepted;
  bool dirty = true;  // since it was last output

  // The state of this member itself.
  std::optional<std::vector<NodeStatus>> status;  // stopped in the current view, or waits to be admitted
  bool asking = false, leaving = false, freeze_said = false;
  Time said_ready{-1e9};
  std::optional<std::uint64_t> ended;  // the run ended here after this many steps

  // The state of the other members.
  std::map<MemberId, Peer> peers;
  std::vector<Report> reports;                // by seat of the current view
  std::vector<std::vector<Missed>> reported;  // by seat; includes this member's own
  std::vector<bool> lost;                     // by seat
  bool cut_off = false;
  Time cut_off_since{0};
  Observation last_observation;
  Time sent_observation{-1e9}, observation_changed{-1e9}, said_view{-1e9};
  std::map<MemberId, Candidate> candidates;
  std::map<MemberId, Voucher> vouchers;
  Time said_vouchers{-1e9};
  std::map<MemberId, Bytes> revocations;

  // A change of the view.
  std::optional<Proposal> proposal;
  std::uint64_t highest_round = 0;
  std::optional<Time> propose_at;
  std::optional<Split> forking;
  bool forced = false;
  std::uint64_t following = 0;  // the lineage promised to a forking member

  std::deque<MembershipMessage> inbox;  // messages to itself
  Time next = kForever;
  Output output;
};

// The step from which the members continue, by their statuses.
void note_first_step(AgreedView& view);

}  // namespace veche::grid
