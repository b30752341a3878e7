#pragma once

#include <map>
#include <set>
#include <string>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/run/agreement.h"
#include "veche/comm/grid/run/joining.h"

namespace veche::grid {

// Whom this member lets in. The links' thread, unless said otherwise.
class Admissions {
 public:
  Admissions(OwnPart& own, Agreement& agreement) : own_(own), agreement_(agreement) {}

  // A newcomer asks, with an invitation.
  void let_in(const Asker& asker, const JoinRequest& request, Answer answer);
  // For another member, which has seen the proof; it cannot have it signed without a ticket that is good.
  void sign(const SignRequest& wanted, Answer answer);

  // Any thread. Somebody says yes to who waits for approval; throws RequestError where nobody does.
  void admit(const std::string& id);
  std::map<MemberId, JoinRequest> waiting() const;
  // Any thread. A newcomer that was welcomed has its link now; whether another one must be about to make it.
  void linked(const MemberId& id);
  bool awaits_link();

 private:
  std::uint32_t uses_of(const Ticket& ticket) const;
  std::optional<Message> signed_here(const SignRequest& wanted);

  OwnPart& own_;
  Agreement& agreement_;
  int joins_ = 0;  // in this minute
  Time joins_since_{0};

  mutable Mutex mutex_;
  std::map<MemberId, JoinRequest> waiting_ VECHE_GUARDED_BY(mutex_);
  std::set<MemberId> admitted_ VECHE_GUARDED_BY(mutex_);
  std::map<MemberId, Time> welcomed_ VECHE_GUARDED_BY(mutex_);  // and not linked yet
};

}  // namespace veche::grid
