#pragma once

#include <string>
#include <vector>

#include "veche/comm/grid/identity/trust.h"

namespace veche::grid {

// An inviter's promise to the holder of the key `secret_of`.
struct Ticket {
  PublicKey secret_of = {};
  MemberId inviter;
  std::int64_t expires = 0;  // seconds since 1970
  std::uint32_t uses = 0;
  Signature signature = {};  // of the inviter

  std::string coded() const;
  static Ticket read(class Reader& reader);
  // The key under which uses are counted.
  std::string name() const;
};

// An invitation as one line of text: addresses, the secret and its ticket. The secret itself is
// never sent, so members that see the ticket cannot use it.
struct InvitationLine {
  MemberId run;
  Seed secret = {};
  Ticket ticket;
  std::vector<std::string> addresses;

  std::string text() const;
  // Throws RequestError.
  static InvitationLine parse(std::string_view text);
};

InvitationLine make_invitation(const MemberId& run, const KeyPair& inviter,
                               std::vector<std::string> addresses, std::uint32_t uses, Instant expires);

// Why a ticket is invalid at `now`, after `used` uses; nullopt: it is valid.
std::optional<std::string> refusal(const Trust& trust, const Ticket& ticket, std::uint32_t used, Instant now);

// A newcomer's proof that it has the secret, valid for one session. `session` is a value that only
// the two ends of a TLS connection can derive.
Signature prove(const InvitationLine& invitation, std::string_view session, const MemberId& newcomer,
                const MemberId& host);
bool is_proven(const MemberId& run, const Ticket& ticket, std::string_view session, const MemberId& newcomer,
               const MemberId& host, const Signature& proof);

}  // namespace veche::grid
