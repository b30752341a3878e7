#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/grid/identity/certificates.h"

namespace veche::grid {

// Somebody who may invite says that a member comes in no more.
struct Revocation {
  MemberId member;
  std::int64_t time = 0;  // seconds since 1970
  MemberId by;
  Signature signature = {};

  std::string coded() const;
  static Revocation parse(std::string_view text);  // throws Damaged
};
Revocation revoke(const MemberId& run, const MemberId& member, const KeyPair& inviter, Instant now);

// Whom this member believes: the run's root, those who may invite, those who were revoked. Any thread.
class Trust {
 public:
  // Throws Damaged where it is no root.
  explicit Trust(const std::string& root);

  const std::string& root() const { return root_; }
  const MemberId& run() const { return run_; }

  // Why somebody with this certificate, shown with those others, is no member now; nothing: it is one.
  std::optional<std::string> refusal(X509* certificate, STACK_OF(X509) * shown, Instant now) const;

  // A warrant that the run's root has signed; tells whether it is good and new.
  bool learn(const std::string& warrant);
  std::vector<std::string> warrants() const;
  // The key of an inviter that is not revoked; null: it has no warrant that is known here.
  Openssl<EVP_PKEY> inviter(const MemberId& id) const;

  // Tells whether it is good and new.
  bool learn(const Revocation& revocation);
  std::vector<Revocation> revocations() const;
  bool is_revoked(const MemberId& id) const;

 private:
  const std::string root_;
  Openssl<X509> root_certificate_;
  MemberId run_;
  Openssl<X509_STORE> store_;

  mutable std::mutex mutex_;
  std::map<MemberId, std::string> warrants_;    // guarded by mutex_
  std::map<MemberId, Revocation> revocations_;  // guarded by mutex_
};

// What of it proves a member's certificate: the warrant of who signed that.
std::vector<std::string> proofs_of(const std::string& certificate, const Trust& trust);

}  // namespace veche::grid
