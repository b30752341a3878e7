#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/identity/certificates.h"

namespace veche::grid {

// A warrant holder's statement that a member is barred. The member's own signatures become void,
// except for the named members it admitted before: there is no other way to tell earlier signatures
// from later ones.
struct Revocation {
  MemberId member;
  std::int64_t time = 0;  // seconds since 1970
  MemberId by;
  std::vector<MemberId> spared;
  Signature signature = {};

  std::string coded() const;
  static Revocation parse(std::string_view text);  // throws MalformedMessage
};
// Beyond this number, members need another signature.
inline constexpr std::size_t kMostSpared = 120;
Revocation revoke(const MemberId& run, const MemberId& member, const KeyPair& inviter, Instant now,
                  std::vector<MemberId> spared = {});

// What this member trusts: the run's root, the warrants, the revocations. Any thread. A warrant
// counts if it is signed by the root, or by a holder whose own warrant counts and that was not
// revoked, or whose revocation spares this warrant.
class Trust {
 public:
  // Throws MalformedMessage if it is not a root.
  explicit Trust(const std::string& root);

  const std::string& root() const { return root_; }
  const MemberId& run() const { return run_; }

  // Why the owner of this certificate, shown with those others, is not a member now; nullopt: it is
  // one.
  std::optional<std::string> refusal(X509* certificate, STACK_OF(X509) * shown, Instant now) const;

  // Returns whether the warrant counts and is new. Its signer must be known: learn in the order of
  // warrants().
  bool learn(const std::string& warrant);
  std::vector<std::string> warrants() const;
  // The warrants of this certificate's signer, of that one's signer, and so on up to the founder's.
  std::vector<std::string> proofs_of(const std::string& certificate) const;
  // The key of an inviter that is not revoked; null if no valid warrant of it is known.
  Openssl<EVP_PKEY> inviter(const MemberId& id) const;
  // If many are known: keeps only those that lead to present members. Other members bring their
  // own.
  void keep(const std::vector<MemberId>& present);
  // The members with a warrant signed by it.
  std::vector<MemberId> invited_by(const MemberId& id) const;

  // Returns whether it is valid and new. Of two about one member, the earlier one counts for every
  // member.
  bool learn(const Revocation& revocation);
  // earliest first: a revoked member may have revoked others before
  std::vector<Revocation> revocations() const;
  bool is_revoked(const MemberId& id) const;

 private:
  struct Warrant {
    MemberId holder;
    std::string by;  // name
    std::string der;
  };
  // All that lead from this one to the root's; nothing: it does not count.
  std::vector<const Warrant*> chain(const std::string& name) const VECHE_REQUIRES(mutex_);
  bool stands(const MemberId& signer, const MemberId& whom) const VECHE_REQUIRES(mutex_);
  // The root or a warrant that counts.
  Openssl<X509> valid_warrant(const std::string& name) const VECHE_EXCLUDES(mutex_);

  const std::string root_;
  Openssl<X509> root_certificate_;
  MemberId run_;
  std::string root_name_;

  mutable Mutex mutex_;
  std::map<std::string, Warrant> warrants_ VECHE_GUARDED_BY(mutex_);  // by the holder's name
  std::unordered_set<std::string> known_ VECHE_GUARDED_BY(mutex_);    // the same, as received
  std::map<MemberId, Revocation> revocations_ VECHE_GUARDED_BY(mutex_);
  std::size_t revoked_bytes_ VECHE_GUARDED_BY(mutex_) = 0;
};

}  // namespace veche::grid
