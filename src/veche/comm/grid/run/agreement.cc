#include "veche/comm/grid/run/agreement.h"

#include <algorithm>
#include <future>
#include <random>
#include <utility>

#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr Time kLookUp{0.05};
constexpr Time kToHearIt{0.3};
constexpr Time kSayWhy{10};  // without progress: print a sentence
constexpr Time kForkAfter{15};
constexpr Time kNobodyAnswers{15};  // then a newcomer gives up: no member can admit it

std::uint64_t number_of(const MemberId& run) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | run.bytes[static_cast<std::size_t>(i)];
  return number;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Agreement::Agreement(MemberContext& own, Entry entry) : own_(own), entry_(entry) {
  membership_.emplace(make_membership());
  known_view_ = membership_->present();
}

std::optional<View> Agreement::next(const std::vector<NodeStatus>& here) {
  std::uint64_t call = 0;
  {
    const MutexLock lock(mutex_);
    call = waiting_ = ++calls_;
  }
  own_.links->post([this, here, call] {
    last_status_ = here;
    // A view that was there may have been taken meanwhile: asking now would end it at once.
    if (!still_waits(call)) return;
    const bool first = !asked_;
    asked_ = waits_ = true;
    if (frozen_at_ >= Time(0)) stopped_after(now() - frozen_at_);
    frozen_at_ = Time(-1);
    if (first && entry_ == Entry::found)
      membership_->found(here, now());
    else if (first || !membership_->in())
      membership_->ready(here, now());
    else
      membership_->frozen(here, now());
    if (first && own_.options.force) membership_->force(now());
    act();
  });
  MutexLock lock(mutex_);
  const bool newcomer = entry_ == Entry::join && !since_.contains(own_.id());
  for (Time said = now(), answered = now();;) {
    // A signal does not wake this wait.
    const bool changed = changed_.wait_for(
        mutex_, kLookUp, [this]() VECHE_REQUIRES(mutex_) { return pending_ || ended_ || !end_.empty(); });
    if (!end_.empty()) throw RunError(end_);
    if (ended_) throw RunEnded{*std::exchange(ended_, {})};
    if (changed) break;
    if (own_.interrupted()) {
      waiting_ = 0;
      return {};
    }
    lock.unlock();
    if (!newcomer || somebody_answers()) answered = now();
    lock.lock();
    if (now() - answered >= kNobodyAnswers)
      throw RunError(
          "no member of the run answers: the run has ended, or all its members are gone; they have the "
          "model");
    if (now() - said < kSayWhy) continue;
    said = now();
    own_.say(cut_off_ ? "cut off from the majority of the members: waits for them"
                      : "waits for the members to agree on the next view");
  }
  View view = std::move(*pending_);
  pending_.reset();
  waiting_ = 0;
  return view;
}

void Agreement::never_stop() {
  on_links(*own_.links, [this] { never_stops_ = true; });
}

bool Agreement::still_waits(std::uint64_t call) const {
  const MutexLock lock(mutex_);
  return waiting_ == call && !pending_;
}

void Agreement::at_step(std::uint64_t step, double epochs) {
  for (NodeStatus& one : last_status_) {
    if (!never_stops_ || one.done_step >= step) continue;
    one.done_step = step;
    one.epochs = epochs;
  }
}

void Agreement::end(std::uint64_t step) {
  on_links(*own_.links, [&] {
    {
      const MutexLock lock(mutex_);
      ended_in_ = membership_->present();
    }
    membership_->end(step, now());
    act();
  });
}

bool Agreement::leave() {
  on_links(*own_.links, [&] {
    leaving_ = true;
    if (const auto present = router_.present()) present->end_view();
    membership_->frozen(last_status_, now());  // its vote may be needed
    membership_->leave(now());
    act();
  });
  MutexLock lock(mutex_);
  // Without other members to agree with, it just leaves: they see its links close.
  changed_.wait_for(mutex_, longest_timeout_ + kToHearIt,
                    [this]() VECHE_REQUIRES(mutex_) { return removed_ || cut_off_ || !failed_.empty(); });
  lock.unlock();
  own_.links->flush(Time(1));
  bool others = false;
  on_links(*own_.links, [&] { others = membership_->others_stay(); });
  return others;
}

Membership Agreement::make_membership() {
  Member self;
  self.id = own_.id();
  // Larger than in any earlier life, even if the promises are lost but the key is not.
  self.incarnation = static_cast<std::uint64_t>(1e6 * seconds_since_1970());
  self.name = name_of(own_.options);
  self.nodes = own_.options.nodes;
  self.addresses = own_.links->addresses();
  MembershipOptions how;
  how.gather = own_.options.gather;
  if (own_.options.fork) how.fork_after = kForkAfter;
  how.genuine = [this](const MemberId& id, std::span<const std::uint8_t> bytes) {
    try {
      const Revocation told = Revocation::parse(view_of_bytes(bytes));
      return told.member == id && (own_.trust->learn(told) || own_.trust->is_revoked(id));
    } catch (const MalformedMessage&) {
      return false;
    }
  };
  return {number_of(own_.trust->run()), std::move(self), as_bytes(own_.files.promised()), std::move(how),
          std::random_device{}()};
}

void Agreement::act() {
  for (bool more = true; more;) {
    Membership::Output output = membership_->take();
    more = output.freeze || output.installed || output.removed || !output.revoked.empty();
    if (!output.persist.empty()) {
      try {
        own_.files.write_promised({output.persist.begin(), output.persist.end()});
      } catch (const RunError& error) {  // a promise that cannot be stored is not given
        return fail(error.what());
      }
    }
    for (const Membership::Envelope& envelope : output.messages)
      own_.links->tell(envelope.to, {envelope.bytes.begin(), envelope.bytes.end()});
    for (const Membership::Revocation& revoked : output.revoked) {
      own_.files.write_trust(*own_.trust);
      shut_out(revoked.id);
      on_revoked();  // if that member signed it
    }
    if (output.freeze && !goes_on()) {
      if (const auto present = router_.present()) present->end_view();
      if (!waits_) frozen_at_ = now();
    }
    // No trainer is left here to answer: the others need its vote to continue without it. Or the
    // trainer never stops: its status is a snapshot.
    if (output.freeze && (leaving_ || goes_on())) membership_->frozen(last_status_, now());
    if (output.installed) install(*output.installed);
    if (output.refused) {
      const MutexLock lock(mutex_);
      end_ = "not let in: " + *output.refused;
      changed_.notify_all();
    }
    if (output.ended) {
      const MutexLock lock(mutex_);
      ended_ = output.ended;
      changed_.notify_all();
    }
    if (output.removed) removed();
  }
  // Also for nodes that do not stop for others and would continue on their own.
  if (const auto present = router_.present(); present && never_stops_ && membership_->cut_off())
    present->end_view();
  {
    const MutexLock lock(mutex_);
    known_view_ = membership_->present();
    cut_off_ = membership_->cut_off();
  }
  set_timer();
}

// Tells the member why, and does not wait for it.
void Agreement::shut_out(const MemberId& id) {
  if (id == own_.id()) return fail("this member was revoked; the others continue without it");
  own_.links->forget(id, "it was revoked");
  own_.links->after(kToHearIt, [this, id] { own_.links->close(id, "it was revoked"); });
}

void Agreement::install(const AgreedView& agreed) {
  const MembershipView& membership = agreed.membership;
  Seating seating{membership.number, {}, 0};
  View view{
      membership.number, membership.first_step, {}, static_cast<int>(membership.members.size()), nullptr};
  for (std::size_t seat = 0; seat < membership.members.size(); ++seat) {
    const Member& member = membership.members[seat];
    if (member.id == own_.id()) seating.mine = seat;
    seating.seats.push_back({member.id, static_cast<int>(member.nodes), member.incarnation});
    view.status.insert(view.status.end(), agreed.statuses[seat].begin(), agreed.statuses[seat].end());
    own_.links->want(member.id, member.addresses);
  }
  std::vector<Known> known;
  std::vector<MemberId> present{own_.id()};
  for (const Member& member : membership.members) {
    known.push_back({member.id, member.addresses});
    present.push_back(member.id);
  }
  own_.trust->keep(present);
  try {
    own_.files.write_members(known);
  } catch (const RunError&) {
    // A failed hint must not end the run.
  }
  if (const auto before = router_.present()) {
    before->end_view();
    for (const Seating::Seat& seat : before->seating().seats)
      if (std::ranges::none_of(membership.members,
                               [&](const Member& member) { return member.id == seat.member; }))
        own_.links->forget(seat.member, "the members went on without it");
  }
  waits_ = false;
  std::erase_if(needs_, [&](const auto& each) { return !is_seated(each.first); });
  follow_measurements();
  own_.links->forget_views_before(membership.number);
  const auto cluster = std::make_shared<GridCluster>(own_.links, seating, own_.options.slots);
  cluster->on_compute([this](Time took) { stopped_after(took); });
  router_.present(cluster);
  view.cluster = cluster;
  const MutexLock lock(mutex_);
  for (const Member& member : membership.members) since_.try_emplace(member.id, seconds_since_1970());
  pending_ = std::move(view);
  known_view_ = membership;  // before `next` returns: its caller reads the view
  removed_ = false;
  changed_.notify_all();
}

void Agreement::removed() {
  if (const auto present = router_.present()) present->end_view();
  // Left out while it waited, by members that did not hear of it: asks again.
  if (waits_ && !leaving_ && !own_.trust->is_revoked(own_.id())) membership_->ready(last_status_, now());
  const MutexLock lock(mutex_);
  removed_ = true;
  changed_.notify_all();
}

void Agreement::fail(const std::string& why) {
  if (const auto present = router_.present()) present->end_view();
  const MutexLock lock(mutex_);
  failed_ = end_ = why;
  changed_.notify_all();
}

// The member's name and id, while it takes part.
std::string Agreement::member_name(const MemberId& id) const {
  for (const Member& member : membership_->present().members)
    if (member.id == id && !member.name.empty()) return member.name + " (" + short_name(id) + ")";
  return short_name(id);
}

bool Agreement::is_seated(const MemberId& id) const {
  const auto& members = membership_->present().members;
  return std::ranges::any_of(members, [&](const Member& member) { return member.id == id; });
}

MembershipView Agreement::membership() const {
  const MutexLock lock(mutex_);
  return known_view_;
}

MembershipView Agreement::last_trained_in() const {
  const MutexLock lock(mutex_);
  return ended_in_;
}

double Agreement::since(const MemberId& member) const {
  const MutexLock lock(mutex_);
  const auto found = since_.find(member);
  return found == since_.end() ? 0 : found->second;
}

void on_links(Links& links, const std::function<void()>& what) {
  std::promise<void> done;
  links.post([&] {
    try {
      what();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

}  // namespace veche::grid
