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
#include "veche/comm/grid/run/member_context.h"
#include "veche/comm/views.h"

namespace veche::grid {

// The agreement on views, with links, files and a clock; provides the views to the trainer.
// Everything except Views and methods marked otherwise runs on the links thread.
class Agreement : public Views {
 public:
  Agreement(MemberContext& own, Entry entry);

  // Views: one thread.
  std::optional<View> next(const std::vector<NodeStatus>& here) override;
  void never_stop() override;
  void end(std::uint64_t step) override;
  bool leave() override;

  // Any thread.
  MembershipView membership() const;
  MembershipView last_trained_in() const;      // at the time of `end`
  double since(const MemberId& member) const;  // seconds since 1970, in a view; 0: never

  // How long the local nodes went without checking for the end of the view.
  void stopped_after(Time took);
  // How long this member may need to stop, from measurements.
  Time to_stop() const;

  // The step of the local nodes, which do not stop to report it.
  void at_step(std::uint64_t step, double epochs);

  // Events of links.
  void up(const MemberId& peer);
  void down(const MemberId& peer, const std::string& why);
  void refused(const MemberId& peer) { believe_down(peer, Time(0)); }  // no listener there any more
  void word(const MemberId& from, const std::string& text);
  void data(const MemberId& from, const DataHead& head, bool ended, Message message);
  // How long this peer may need to stop.
  void needs(const MemberId& from, Time to_stop);
  // This member cannot continue.
  void fail(const std::string& why);

  Membership& membership() { return *membership_; }
  bool is_seated(const MemberId& id) const;
  // Acts on the membership's output until there is none.
  void act();
  // A member was revoked.
  std::function<void()> on_revoked;
  // Any thread: whether a member that could admit this one is linked.
  std::function<bool()> somebody_answers;

 private:
  void follow_measurements();
  bool still_waits(std::uint64_t call) const;
  std::string member_name(const MemberId& id) const;
  bool goes_on() const { return never_stops_ && !waits_ && !membership_->cut_off(); }
  Membership make_membership();
  void install(const AgreedView& agreed);
  void removed();
  void shut_out(const MemberId& id);
  void believe_down(const MemberId& peer, Time after);
  void set_timer();
  Time now() const { return own_.now(); }

  static constexpr Time kFirstTimeout{5}, kLeastTimeout{2};

  MemberContext& own_;
  const Entry entry_;
  ViewRouter router_;

  // Links thread only.
  std::optional<Membership> membership_;  // always set after construction
  Time timer_at_{-1};
  bool asked_ = false;  // for a view, once
  bool waits_ = false;  // in `next`
  bool leaving_ = false;
  bool never_stops_ = false;
  std::vector<NodeStatus> last_status_;
  std::map<MemberId, Time> needs_;   // time to stop, by member
  Time frozen_at_{-1};               // told to stop at this time, and has not yet
  std::map<MemberId, Time> closed_;  // links that may be restored soon

  mutable Mutex mutex_;
  ConditionVariable changed_;
  MembershipView known_view_ VECHE_GUARDED_BY(mutex_);
  MembershipView ended_in_ VECHE_GUARDED_BY(mutex_);
  std::optional<View> pending_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t calls_ VECHE_GUARDED_BY(mutex_) = 0;    // of `next`
  std::uint64_t waiting_ VECHE_GUARDED_BY(mutex_) = 0;  // the call that waits for a view; 0: none
  RoundTimeout round_timeout_ VECHE_GUARDED_BY(mutex_){kFirstTimeout, kLeastTimeout};
  Time longest_timeout_ VECHE_GUARDED_BY(mutex_){kFirstTimeout};
  bool cut_off_ VECHE_GUARDED_BY(mutex_) = false;
  std::string end_ VECHE_GUARDED_BY(mutex_);
  std::string failed_ VECHE_GUARDED_BY(mutex_);
  bool removed_ VECHE_GUARDED_BY(mutex_) = false;
  // The run's last step, reported by a member that this one asked for admission.
  std::optional<std::uint64_t> ended_ VECHE_GUARDED_BY(mutex_);
  std::map<MemberId, double> since_ VECHE_GUARDED_BY(mutex_);
};

// Runs on the links thread and waits for it. Rethrows its exception.
void on_links(Links& links, const std::function<void()>& what);

}  // namespace veche::grid
