#include "veche/comm/grid/identity/trust.h"

#include <openssl/err.h>

#include <algorithm>
#include <tuple>

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

// All of them must fit into a greeting.
constexpr std::size_t kManyWarrants = 3072, kMostWarrants = 4096, kLongestWarrant = 512;
constexpr std::size_t kMostRevocations = 4096, kMostRevokedBytes = 1U << 20;

std::string coded_ids(const std::vector<MemberId>& ids) {
  Writer writer;
  return writer.list(ids, [&](const MemberId& id) { writer.bytes(id.bytes); }).take();
}

std::string signed_text(const MemberId& run, const Revocation& revocation) {
  return Writer()
      .raw("veche revokes")
      .bytes(run.bytes)
      .bytes(revocation.member.bytes)
      .number(revocation.time)
      .bytes(revocation.by.bytes)
      .raw(coded_ids(revocation.spared))
      .take();
}

Openssl<X509> shown_with_name(STACK_OF(X509) * shown, const std::string& name) {
  for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i)
    if (X509* const it = sk_X509_value(shown, i); subject_of(it) == name) {
      X509_up_ref(it);
      return Openssl<X509>(it);
    }
  return nullptr;
}

}  // namespace

std::string Revocation::coded() const {
  return Writer()
      .bytes(member.bytes)
      .number(time)
      .bytes(by.bytes)
      .raw(coded_ids(spared))
      .bytes(signature)
      .take();
}

Revocation Revocation::parse(std::string_view text) {
  Reader reader(text);
  Revocation revocation;
  revocation.member.bytes = reader.bytes<32>();
  revocation.time = reader.number<std::int64_t>();
  revocation.by.bytes = reader.bytes<32>();
  revocation.spared.resize(reader.count(kMostSpared, 32));
  for (MemberId& id : revocation.spared) id.bytes = reader.bytes<32>();
  revocation.signature = reader.bytes<64>();
  reader.end();
  return revocation;
}

Revocation revoke(const MemberId& run, const MemberId& member, const KeyPair& inviter, Instant now,
                  std::vector<MemberId> spared) {
  if (spared.size() > kMostSpared) spared.resize(kMostSpared);
  Revocation revocation{
      member, std::chrono::system_clock::to_time_t(now), inviter.id(), std::move(spared), {}};
  revocation.signature = inviter.sign(signed_text(run, revocation));
  return revocation;
}

Trust::Trust(const std::string& root) : root_(root), root_certificate_(read_certificate(root)) {
  if (!root_certificate_) throw MalformedMessage("this is no certificate");
  X509* const it = root_certificate_.get();
  run_ = id_of(it);
  root_name_ = run_name(run_);
  if (X509_verify(it, X509_get0_pubkey(it)) != 1 || X509_check_ca(it) == 0) {
    ERR_clear_error();
    throw MalformedMessage("this is no certificate of a run");
  }
}

std::optional<std::string> Trust::refusal(X509* certificate, STACK_OF(X509) * shown, Instant now) const {
  MemberId id;
  try {
    id = id_of(certificate);
  } catch (const MalformedMessage& error) {
    return error.what();
  }
  if (is_revoked(id)) return "its member was revoked";
  // A warrant is not a member's certificate: it lives for years.
  if (X509_check_ca(certificate) != 0) return "it is no member's certificate";
  // From its signer to a known valid warrant or the root. Other shown certificates are ignored.
  const Openssl<STACK_OF(X509)> shown_ones(sk_X509_new_null()), known_one(sk_X509_new_null());
  for (std::string name = issuer_of(certificate); sk_X509_num(known_one.get()) == 0;) {
    if (auto known = valid_warrant(name)) {
      sk_X509_push(known_one.get(), known.release());
    } else if (auto next = shown_with_name(shown, name);
               next && sk_X509_num(shown_ones.get()) < kLongestChain) {
      name = issuer_of(next.get());
      sk_X509_push(shown_ones.get(), next.release());
    } else {
      return "no member with a warrant signed it";
    }
  }
  const Openssl<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), nullptr, certificate, shown_ones.get()) != 1) return openssl_words();
  X509_STORE_CTX_set0_trusted_stack(context.get(), known_one.get());
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(how, std::chrono::system_clock::to_time_t(now));
  X509_VERIFY_PARAM_set_depth(how, kLongestChain);
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_PARTIAL_CHAIN);
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (!good) return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  STACK_OF(X509)* const chain = X509_STORE_CTX_get0_chain(context.get());
  const MutexLock lock(mutex_);
  MemberId whom = id;
  for (int i = 1; i < sk_X509_num(chain); ++i) {
    const MemberId signer = id_of(sk_X509_value(chain, i));
    if (signer == run_ && i == 1) return "no inviter has signed it";
    if (!stands(signer, whom)) return "its signer was revoked";
    whom = signer;
  }
  return {};
}

Openssl<X509> Trust::valid_warrant(const std::string& name) const {
  if (name == root_name_) return read_certificate(root_);
  const MutexLock lock(mutex_);
  const auto found = chain(name);
  return found.empty() ? nullptr : read_certificate(found.front()->der);
}

bool Trust::stands(const MemberId& signer, const MemberId& whom) const {
  const auto revoked = revocations_.find(signer);
  return revoked == revocations_.end() ||
         std::ranges::find(revoked->second.spared, whom) != revoked->second.spared.end();
}

std::vector<const Trust::Warrant*> Trust::chain(const std::string& name) const {
  std::vector<const Warrant*> all;
  for (auto at = warrants_.find(name); at != warrants_.end() && all.size() < kLongestChain;
       at = warrants_.find(at->second.by)) {
    if (!all.empty() && !stands(at->second.holder, all.back()->holder)) return {};
    all.push_back(&at->second);
    if (at->second.by == root_name_) return all;
  }
  return {};
}

void Trust::keep(const std::vector<MemberId>& present) {
  const MutexLock lock(mutex_);
  if (warrants_.size() < kManyWarrants) return;
  std::map<std::string, Warrant> kept;
  for (const MemberId& id : present)
    for (const Warrant* each : chain(inviter_name(id))) kept.emplace(inviter_name(each->holder), *each);
  warrants_ = std::move(kept);
  known_.clear();
  for (const auto& [name, warrant] : warrants_) known_.insert(warrant.der);
}

bool Trust::learn(const std::string& warrant) {
  if (warrant.size() > kLongestWarrant) return false;
  {
    // Every peer sends all warrants; parsing them again would dominate the greeting.
    const MutexLock lock(mutex_);
    if (known_.contains(warrant)) return false;
  }
  const auto read = read_certificate(warrant);
  if (!read || X509_check_ca(read.get()) == 0) return false;
  try {
    const std::string name = subject_of(read.get());
    Warrant given{id_of(read.get()), issuer_of(read.get()), warrant};
    if (name != inviter_name(given.holder) || given.holder == run_) return false;
    const MutexLock lock(mutex_);
    if (!chain(name).empty()) return false;
    Openssl<X509> signer;
    if (given.by != root_name_) {
      const auto before = chain(given.by);
      if (before.empty() || before.size() >= kLongestChain || !stands(before.front()->holder, given.holder))
        return false;
      signer = read_certificate(before.front()->der);
    }
    const bool good =
        X509_verify(read.get(), X509_get0_pubkey(signer ? signer.get() : root_certificate_.get())) == 1;
    ERR_clear_error();
    if (!good || warrants_.size() >= kMostWarrants) return false;
    if (const auto old = warrants_.find(name); old != warrants_.end()) known_.erase(old->second.der);
    warrants_.insert_or_assign(name, std::move(given));
    known_.insert(warrant);
    return true;
  } catch (const MalformedMessage&) {
    return false;
  }
}

std::vector<std::string> Trust::warrants() const {
  std::multimap<std::size_t, std::string> all;
  const MutexLock lock(mutex_);
  for (const auto& [name, warrant] : warrants_)
    if (const std::size_t length = chain(name).size(); length > 0) all.emplace(length, warrant.der);
  std::vector<std::string> sorted;
  for (auto& [length, der] : all) sorted.push_back(std::move(der));
  return sorted;
}

std::vector<std::string> Trust::proofs_of(const std::string& certificate) const {
  std::vector<std::string> proofs;
  const auto read = read_certificate(certificate);
  if (!read) return proofs;
  const MutexLock lock(mutex_);
  for (const Warrant* warrant : chain(issuer_of(read.get()))) proofs.push_back(warrant->der);
  return proofs;
}

Openssl<EVP_PKEY> Trust::inviter(const MemberId& id) const {
  const MutexLock lock(mutex_);
  const auto found = chain(inviter_name(id));
  if (found.empty() || found.front()->holder != id || revocations_.contains(id)) return nullptr;
  const auto read = read_certificate(found.front()->der);
  return Openssl<EVP_PKEY>(read ? X509_get_pubkey(read.get()) : nullptr);
}

std::vector<MemberId> Trust::invited_by(const MemberId& id) const {
  std::vector<MemberId> all;
  const std::string name = inviter_name(id);
  const MutexLock lock(mutex_);
  for (const auto& [holder, warrant] : warrants_)
    if (warrant.by == name) all.push_back(warrant.holder);
  return all;
}

bool Trust::learn(const Revocation& revocation) {
  const auto earlier = [&](const Revocation& known) {
    return std::tie(revocation.time, revocation.by) < std::tie(known.time, known.by);
  };
  {
    const MutexLock lock(mutex_);
    const auto known = revocations_.find(revocation.member);
    if (known != revocations_.end() && !earlier(known->second)) return false;
  }
  const auto by = inviter(revocation.by);
  if (!by || !is_signed(signed_text(run_, revocation), revocation.signature, by.get())) return false;
  const MutexLock lock(mutex_);
  const std::size_t bytes = revocation.coded().size();
  if (revocations_.size() >= kMostRevocations || revoked_bytes_ + bytes > kMostRevokedBytes) return false;
  const auto [at, is_new] = revocations_.emplace(revocation.member, revocation);
  if (is_new) {
    revoked_bytes_ += bytes;
  } else if (earlier(at->second)) {
    revoked_bytes_ += bytes - at->second.coded().size();
    at->second = revocation;
  }
  return is_new;
}

std::vector<Revocation> Trust::revocations() const {
  const MutexLock lock(mutex_);
  std::vector<Revocation> all;
  for (const auto& [id, revocation] : revocations_) all.push_back(revocation);
  std::ranges::stable_sort(all, {}, &Revocation::time);
  return all;
}

bool Trust::is_revoked(const MemberId& id) const {
  const MutexLock lock(mutex_);
  return revocations_.contains(id);
}

}  // namespace veche::grid
