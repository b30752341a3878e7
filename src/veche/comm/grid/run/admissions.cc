#include "veche/comm/grid/run/admissions.h"

#include "veche/errors.h"

namespace veche::grid {

namespace {
constexpr int kJoinsAMinute = 120;
constexpr Time kToLink{10};  // a newcomer links at once; after this time it is considered gone
}  // namespace

std::uint32_t Admissions::uses_of(const Ticket& ticket) const {
  const auto& used = agreement_.membership().present().invitations_used;
  const auto found = used.find(ticket.name());
  return found == used.end() ? 0 : found->second;
}

void Admissions::let_in(const Requester& requester, const JoinRequest& request, Answer answer) {
  const auto reply = [answer](JoinAnswer::Verdict verdict, const std::string& sentence) {
    JoinAnswer said;
    said.verdict = verdict;
    said.sentence = sentence;
    answer(as_message(coded(said)));
  };
  using enum JoinAnswer::Verdict;
  if (own_.now() - joins_since_ > Time(60)) {
    joins_since_ = own_.now();
    joins_ = 0;
  }
  if (++joins_ > kJoinsAMinute) return reply(wait, "too many want to join at once");
  // A member admitted earlier may ask again if the answer was lost.
  const std::uint32_t used = agreement_.is_seated(requester.id) ? 0 : uses_of(request.ticket);
  if (const auto why = refusal(*own_.trust, request.ticket, used, std::chrono::system_clock::now()))
    return reply(refused, *why);
  if (!is_proven(own_.trust->run(), request.ticket, requester.session, requester.id, own_.id(),
                 request.proof))
    return reply(refused, "the newcomer does not know the invitation's secret");
  {
    const MutexLock lock(mutex_);
    if (own_.options.approve && !admitted_.contains(requester.id)) {
      if (waiting_.size() < 1000 && waiting_.emplace(requester.id, request).second)
        own_.say(short_name(requester.id) + " (" + request.name +
                 ") waits for approval: veche grid members --admit " + short_name(requester.id));
      return reply(
          wait, "a member must approve this machine: veche grid members --admit " + short_name(requester.id));
    }
  }
  const SignRequest wanted{requester.key, request.ticket};
  const auto finish = [this, requester, request, answer, reply](const std::optional<Message>& given) {
    if (!given) return reply(refused, "no member with a warrant is linked: try again");
    const Signed certificates = read_signed(text_view(*given));
    if (own_.trust->learn(certificates.warrant)) own_.files.write_trust(*own_.trust);
    agreement_.membership().vouch(requester.id, {request.ticket.name(), request.ticket.uses}, own_.now());
    JoinAnswer said{welcome,
                    "",
                    own_.trust->root(),
                    certificates.certificate,
                    certificates.warrant,
                    coded_trust(*own_.trust),
                    own_.configuration,
                    {}};
    said.members.push_back({own_.id(), own_.links->addresses()});
    for (const Member& member : agreement_.membership().present().members)
      if (member.id != own_.id()) said.members.push_back({member.id, member.addresses});
    // Later announcements are newer.
    for (const LinkState& link : own_.links->states())
      for (Known& known : said.members)
        if (known.id == link.peer && link.up) known.addresses = link.hello.addresses;
    answer(as_message(coded(said)));
    {
      const MutexLock lock(mutex_);
      welcomed_[requester.id] = own_.now();
    }
    agreement_.act();
  };
  if (own_.trust->inviter(own_.id())) return finish(signed_here(wanted));
  for (const Member& member : agreement_.membership().present().members)
    if (own_.trust->inviter(member.id) && own_.links->is_up(member.id))
      return own_.links->ask(member.id, Service::own, coded(wanted), finish);
  finish({});
}

std::optional<Message> Admissions::signed_here(const SignRequest& wanted) {
  return as_message(coded(sign_for(own_.key, wanted.key, std::chrono::system_clock::now())));
}

void Admissions::sign(const SignRequest& wanted, Answer answer) {
  if (!own_.trust->inviter(own_.id()) ||
      refusal(*own_.trust, wanted.ticket, uses_of(wanted.ticket), std::chrono::system_clock::now()))
    return answer({});
  answer(signed_here(wanted));
}

void Admissions::admit(const std::string& id) {
  const MutexLock lock(mutex_);
  for (auto at = waiting_.begin(); !id.empty() && at != waiting_.end(); ++at)
    if (hex(at->first).starts_with(id)) {
      admitted_.insert(at->first);
      waiting_.erase(at);
      return;
    }
  throw RequestError("no newcomer with the id " + id + " waits for approval");
}

void Admissions::linked(const MemberId& id) {
  const MutexLock lock(mutex_);
  welcomed_.erase(id);
}

bool Admissions::awaits_link() {
  const MutexLock lock(mutex_);
  std::erase_if(welcomed_, [this](const auto& one) { return own_.now() > one.second + kToLink; });
  return !welcomed_.empty();
}

std::map<MemberId, JoinRequest> Admissions::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace veche::grid
