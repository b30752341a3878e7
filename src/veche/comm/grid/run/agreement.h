#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/engine/grid_cluster.h"
#include "veche/comm/grid/membership/membership.h"
#include "veche/comm/grid/round_timeout.h"
#include "veche/comm/grid/run/grid_member.h"
#include "veche/comm/grid/run/own_part.h"
#include "veche/comm/views.h"

namespace veche::grid {

// The agreement on views, with the links that it needs, files and a clock; the views themselves for whoever
// trains. What is not of Views or said to be any thread's is the links' thread's.
class Agreement : public Views {
 public:
  Agreement(OwnPart& own, WayIn way);

  // Views: one thread.
  std::optional<View> next(const std::vector<NodeStatus>& here) override;
  void never_stop() override;
  void end(std::uint64_t step) override;
  bool leave() override;

  // Any thread.
  MembershipView membership() const;
  MembershipView last_trained_in() const;      // when `end` was called
  double since(const MemberId& member) const;  // seconds since 1970, in a view; 0: never

  // How long the nodes here went without looking whether the view has ended.
  void stopped_after(Time took);
  // How long this member may need to stop, from what was measured.
  Time to_stop() const;

  // How far the nodes here are, which do not stop to say so.
  void at_step(std::uint64_t step, double epochs);

  // What links tell.
  void up(const MemberId& peer);
  void down(const MemberId& peer, const std::string& why);
  void refused(const MemberId& peer) { believe_down(peer, Time(0)); }  // nobody listens there any more
  void word(const MemberId& from, const std::string& text);
  void data(const MemberId& from, const DataHead& head, bool ended, Message message);
  // How long this one may need to stop.
  void needs(const MemberId& from, Time to_stop);
  // This member cannot go on.
  void fail(const std::string& why);

  Membership& membership() { return *membership_; }
  bool is_seated(const MemberId& id) const;
  // Acts on what the membership says, until it says nothing more.
  void act();
  // Somebody was revoked.
  std::function<void()> on_revoked;
  // Any thread: whether a member that could let this one in is linked.
  std::function<bool()> somebody_answers;

 private:
  void follow_measurements();
  bool has_view_for_next() const;
  std::string who_is(const MemberId& id) const;
  bool goes_on() const { return never_stops_ && !waits_ && !membership_->cut_off(); }
  Membership make_membership();
  void install(const AgreedView& agreed);
  void removed();
  void shut_out(const MemberId& id);
  void believe_down(const MemberId& peer, Time after);
  void set_timer();
  Time now() const { return own_.now(); }

  static constexpr Time kFirstTimeout{5}, kLeastTimeout{2};

  OwnPart& own_;
  const WayIn way_;
  ViewRouter router_;

  // The links' thread's.
  std::optional<Membership> membership_;  // always, once made
  Time timer_at_{-1};
  bool asked_ = false;  // for a view, once
  bool waits_ = false;  // in `next`
  bool leaving_ = false;
  bool never_stops_ = false;
  std::vector<NodeStatus> last_status_;
  std::map<MemberId, Time> needs_;   // to stop, by member
  Time frozen_at_{-1};               // it was told to stop then, and has not yet
  std::map<MemberId, Time> closed_;  // links that may be made again at once

  mutable Mutex mutex_;
  ConditionVariable changed_;
  MembershipView known_view_ VECHE_GUARDED_BY(mutex_);
  MembershipView ended_in_ VECHE_GUARDED_BY(mutex_);
  std::optional<View> pending_ VECHE_GUARDED_BY(mutex_);
  RoundTimeout round_timeout_ VECHE_GUARDED_BY(mutex_){kFirstTimeout, kLeastTimeout};
  Time longest_timeout_ VECHE_GUARDED_BY(mutex_){kFirstTimeout};
  bool cut_off_ VECHE_GUARDED_BY(mutex_) = false;
  std::string end_ VECHE_GUARDED_BY(mutex_);
  std::string failed_ VECHE_GUARDED_BY(mutex_);
  bool removed_ VECHE_GUARDED_BY(mutex_) = false;
  // The run has ended, as a member says that this one asked to be let in.
  std::optional<std::uint64_t> ended_ VECHE_GUARDED_BY(mutex_);
  std::map<MemberId, double> since_ VECHE_GUARDED_BY(mutex_);
};

// Done by the links' thread, and waited for. Throws what it throws.
void on_links(Links& links, const std::function<void()>& what);

}  // namespace veche::grid
