#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/identity/certificates.h"

namespace veche::grid {

// Somebody who may invite says that a member comes in no more. What that one has signed counts no more, but
// for those it had let in before, who are named: nobody else can tell what was signed before and what since.
struct Revocation {
  MemberId member;
  std::int64_t time = 0;  // seconds since 1970
  MemberId by;
  std::vector<MemberId> spared;
  Signature signature = {};

  std::string coded() const;
  static Revocation parse(std::string_view text);  // throws MalformedMessage
};
// Of more than kMostSpared the rest need another's signature.
inline constexpr std::size_t kMostSpared = 120;
Revocation revoke(const MemberId& run, const MemberId& member, const KeyPair& inviter, Instant now,
                  std::vector<MemberId> spared = {});

// Whom this member believes: the run's root, those who may invite, those who were revoked. Any thread.
// A warrant counts that the root has signed, or somebody whose own counts and who was not revoked, or only
// with a word that spares this one.
class Trust {
 public:
  // Throws MalformedMessage where it is no root.
  explicit Trust(const std::string& root);

  const std::string& root() const { return root_; }
  const MemberId& run() const { return run_; }

  // Why somebody with this certificate, shown with those others, is no member now; nothing: it is one.
  std::optional<std::string> refusal(X509* certificate, STACK_OF(X509) * shown, Instant now) const;

  // Tells whether it counts and is new. Who signed it must be known: learn them in the order of warrants().
  bool learn(const std::string& warrant);
  std::vector<std::string> warrants() const;
  // Of who signed this certificate, of who let that one in, and so on up to the founder's.
  std::vector<std::string> proofs_of(const std::string& certificate) const;
  // The key of an inviter that is not revoked; null: it has no warrant that is known here and counts.
  Openssl<EVP_PKEY> inviter(const MemberId& id) const;
  // Where many are known: forgets all but those that lead to who is there. Others bring their own.
  void keep(const std::vector<MemberId>& present);
  // Who has a warrant by it.
  std::vector<MemberId> invited_by(const MemberId& id) const;

  // Tells whether it is good and new. Of two about one member the earlier stays, with everybody.
  bool learn(const Revocation& revocation);
  std::vector<Revocation> revocations() const;  // the earliest first: who was revoked may have revoked before
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
  Openssl<X509> good_one(const std::string& name) const VECHE_EXCLUDES(mutex_);

  const std::string root_;
  Openssl<X509> root_certificate_;
  MemberId run_;
  std::string root_name_;

  mutable Mutex mutex_;
  std::map<std::string, Warrant> warrants_ VECHE_GUARDED_BY(mutex_);  // by the holder's name
  std::unordered_set<std::string> known_ VECHE_GUARDED_BY(mutex_);    // the same, as they came
  std::map<MemberId, Revocation> revocations_ VECHE_GUARDED_BY(mutex_);
  std::size_t revoked_bytes_ VECHE_GUARDED_BY(mutex_) = 0;
};

}  // namespace veche::grid
