#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/run/grid_folder.h"

namespace veche::grid {

// A newcomer's request to any member.
struct JoinRequest {
  Ticket ticket;
  Signature proof = {};
  std::uint64_t incarnation = 1;
  std::uint32_t nodes = 1;
  std::string name;
  std::vector<std::string> addresses;
};
std::string coded(const JoinRequest& request);
JoinRequest read_join_request(std::string_view text);  // throws MalformedMessage

// The answer to a newcomer.
struct JoinAnswer {
  enum class Verdict : std::uint8_t { welcome = 1, refused, wait } verdict = Verdict::refused;
  std::string sentence;  // the reason, or what is awaited
  // If it is welcome:
  std::string root, certificate, warrant;
  std::string trust;  // warrants and revocations
  std::string configuration;
  std::vector<Known> members;
};
std::string coded(const JoinAnswer& answer);
JoinAnswer read_join_answer(std::string_view text);  // throws MalformedMessage

// A member without a warrant asks one with a warrant to sign for a newcomer.
struct SignRequest {
  PublicKey key = {};
  Ticket ticket;
};
std::string coded(const SignRequest& request);
SignRequest read_sign_request(std::string_view text);  // throws MalformedMessage
struct Signed {
  std::string certificate, warrant;
};
std::string coded(const Signed& certificates);
Signed read_signed(std::string_view text);  // throws MalformedMessage

// Signs certificates for a key; the signer has a warrant.
Signed sign_for(const KeyPair& inviter, const PublicKey& key, Instant now);

// Asks one address after the other until a member admits the newcomer. Waits for approval as long
// as `go_on` returns true. If no address answers, `search` may provide others. Throws RequestError
// with the reason.
JoinAnswer ask_to_join(const InvitationLine& invitation, const KeyPair& key, JoinRequest request,
                       const std::function<bool(const std::string& sentence)>& go_on,
                       const std::function<std::vector<std::string>()>& search = {});

}  // namespace veche::grid
