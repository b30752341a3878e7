#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/run/grid_folder.h"

namespace veche::grid {

// What a newcomer says, to whoever it reaches.
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

// What it is told.
struct JoinAnswer {
  enum class Verdict : std::uint8_t { welcome = 1, refused, wait } verdict = Verdict::refused;
  std::string sentence;  // why not, or what is waited for
  // Where it is welcome:
  std::string root, certificate, warrant;
  std::string trust;  // warrants and revocations
  std::string configuration;
  std::vector<Known> members;
};
std::string coded(const JoinAnswer& answer);
JoinAnswer read_join_answer(std::string_view text);  // throws MalformedMessage

// What one without a warrant asks of one with, for a newcomer that it has heard.
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

// Certificates for a key, by one with a warrant.
Signed sign_for(const KeyPair& inviter, const PublicKey& key, Instant now);

// Goes from address to address until one lets the newcomer in; waits where approval is waited for, as long as
// `go_on` says so. Where none of the addresses answers, `search` may know others. Throws RequestError with
// the reason.
JoinAnswer ask_to_join(const InvitationLine& invitation, const KeyPair& key, JoinRequest request,
                       const std::function<bool(const std::string& sentence)>& go_on,
                       const std::function<std::vector<std::string>()>& search = {});

}  // namespace veche::grid
