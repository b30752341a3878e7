#pragma once

#include <map>
#include <set>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/run/agreement.h"
#include "veche/comm/grid/run/joining.h"

namespace veche::grid {

// Admission of newcomers. Links thread, unless noted.
class Admissions {
 public:
  Admissions(MemberContext& own, Agreement& agreement) : own_(own), agreement_(agreement) {}

  // A newcomer asks, with an invitation.
  void let_in(const Requester& requester, const JoinRequest& request, Answer answer);
  // For another member that has seen the proof; it gets no signature without a valid ticket.
  void sign(const SignRequest& wanted, Answer answer);

  // Any thread. Approves a waiting newcomer; throws RequestError if none waits.
  void admit(const std::string& id);
  std::map<MemberId, JoinRequest> waiting() const;
  // Any thread. A welcomed newcomer is linked now; and whether another one is still expected to
  // link.
  void linked(const MemberId& id);
  bool awaits_link();

 private:
  std::uint32_t uses_of(const Ticket& ticket) const;
  std::optional<Message> signed_here(const SignRequest& wanted);

  MemberContext& own_;
  Agreement& agreement_;
  int joins_ = 0;  // in this minute
  Time joins_since_{0};

  mutable Mutex mutex_;
  std::map<MemberId, JoinRequest> waiting_ VECHE_GUARDED_BY(mutex_);
  std::set<MemberId> admitted_ VECHE_GUARDED_BY(mutex_);
  std::map<MemberId, Time> welcomed_ VECHE_GUARDED_BY(mutex_);  // and not yet linked
};

}  // namespace veche::grid
