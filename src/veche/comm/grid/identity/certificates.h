#pragma once

#include <chrono>
#include <string>

#include "veche/comm/grid/identity/keys.h"

namespace veche::grid {

using Instant = std::chrono::system_clock::time_point;

// Three kinds of certificates, in DER:
//   the root      of the run, self-signed. The run's id is the id of its key, which signs the
//                 founder's warrant and is then discarded.
//   a warrant     signed by the root's key or by a key with a warrant: this key may sign
//                 warrants, members' certificates, invitations and revocations
//   a member's    signed by a key with a warrant, usually its own, for a day
// and one that only carries a key, shown by a newcomer without a certificate.
std::string make_root(const KeyPair& root, Instant now);
std::string make_root_warrant(const KeyPair& root, EVP_PKEY* founder, Instant now);
std::string make_warrant(const KeyPair& inviter, EVP_PKEY* member, Instant now);
std::string make_member(const KeyPair& inviter, EVP_PKEY* member, Instant now);
std::string make_newcomer(const KeyPair& newcomer, Instant now);

inline constexpr std::chrono::hours kMemberLife{24};
inline constexpr std::chrono::hours kWarrantLife{24 * 3650};
// From the founder's warrant to the last one. The holder of the last one admits newcomers as
// before, but without warrants.
inline constexpr int kLongestChain = 256;

// Null if it is not a certificate.
Openssl<X509> read_certificate(const std::string& der);
std::string der_of(X509* certificate);
// The id of its key; throws MalformedMessage if the key is not Ed25519.
MemberId id_of(X509* certificate);
bool is_newcomer(X509* certificate);
// The names that link a certificate to its signer's. Only the key counts.
std::string subject_of(X509* certificate);
std::string issuer_of(X509* certificate);
std::string run_name(const MemberId& run);
std::string inviter_name(const MemberId& inviter);
Instant expiry_of(X509* certificate);

}  // namespace veche::grid
