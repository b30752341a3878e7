#include "veche/comm/grid/run/joining.h"

#include <thread>

#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/links/tls.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr std::chrono::seconds kAskAgainAfter{1};
constexpr Time kWhileBusy{40};

std::string_view text_in(const Message& message) {
  const auto letters = message.as<char>();
  return {letters.data(), letters.size()};
}

}  // namespace

Signed sign_for(const KeyPair& inviter, const PublicKey& key, Instant now) {
  const auto pair = as_key(key);
  if (!pair) throw MalformedMessage("this is no key");
  return {make_member(inviter, pair.get(), now), make_warrant(inviter, pair.get(), now)};
}

JoinAnswer ask_to_join(const InvitationLine& invitation, const KeyPair& key, JoinRequest request,
                       const std::function<bool(const std::string& sentence)>& go_on,
                       const std::function<std::vector<std::string>()>& search) {
  request.ticket = invitation.ticket;
  OneQuestion question;
  question.addresses = invitation.addresses;
  question.context = make_context(key, make_newcomer(key, std::chrono::system_clock::now()), {});
  // The answering host must be a member of the invitation's run: its chain must end at that run's
  // key.
  question.verify = [&](X509* certificate, STACK_OF(X509) * shown) -> std::optional<std::string> {
    for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i)
      if (id_of(sk_X509_value(shown, i)) == invitation.run)
        return Trust(der_of(sk_X509_value(shown, i)))
            .refusal(certificate, shown, std::chrono::system_clock::now());
    return "it is no member of the run that the invitation is for";
  };
  question.service = Service::join;
  question.while_busy = kWhileBusy;
  question.make = [&](const std::string& session, const MemberId& host) {
    request.proof = prove(invitation, session, key.id(), host);
    return coded(request);
  };
  bool searched = !search;
  const auto ask = [&] {
    try {
      return ask_once(question);
    } catch (const RequestError&) {
      if (std::exchange(searched, true)) throw;
      question.addresses = search();
      if (question.addresses.empty()) throw;
      return ask_once(question);
    }
  };
  for (;;) {
    JoinAnswer answer;
    try {
      const Message message = ask();
      answer = read_join_answer(text_in(message));
      if (answer.verdict == JoinAnswer::Verdict::welcome && Trust(answer.root).run() != invitation.run)
        throw MalformedMessage("it admits to another run");
    } catch (const MalformedMessage& error) {
      throw RequestError(std::string("the answer to the invitation is damaged: ") + error.what());
    }
    if (answer.verdict == JoinAnswer::Verdict::welcome) return answer;
    if (answer.verdict == JoinAnswer::Verdict::refused) throw RequestError("not let in: " + answer.sentence);
    if (!go_on(answer.sentence)) throw RequestError("not let in yet: " + answer.sentence);
    std::this_thread::sleep_for(kAskAgainAfter);
  }
}

}  // namespace veche::grid
