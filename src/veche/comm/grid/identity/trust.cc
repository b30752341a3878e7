#include "veche/comm/grid/identity/trust.h"

#include <openssl/err.h>

#include "veche/comm/grid/coding.h"

namespace veche::grid {
namespace {

constexpr std::size_t kMostWarrants = 4096;
constexpr std::size_t kMostRevocations = 65536;

std::string signed_text(const MemberId& run, const Revocation& revocation) {
  return Writer()
      .raw("veche revokes")
      .bytes(run.bytes)
      .bytes(revocation.member.bytes)
      .number(revocation.time)
      .bytes(revocation.by.bytes)
      .take();
}

}  // namespace

std::string Revocation::coded() const {
  return Writer().bytes(member.bytes).number(time).bytes(by.bytes).bytes(signature).take();
}

Revocation Revocation::parse(std::string_view text) {
  Reader reader(text);
  Revocation revocation;
  revocation.member.bytes = reader.bytes<32>();
  revocation.time = reader.number<std::int64_t>();
  revocation.by.bytes = reader.bytes<32>();
  revocation.signature = reader.bytes<64>();
  reader.end();
  return revocation;
}

Revocation revoke(const MemberId& run, const MemberId& member, const KeyPair& inviter, Instant now) {
  Revocation revocation{member, std::chrono::system_clock::to_time_t(now), inviter.id(), {}};
  revocation.signature = inviter.sign(signed_text(run, revocation));
  return revocation;
}

Trust::Trust(const std::string& root)
    : root_(root), root_certificate_(read_certificate(root)), store_(X509_STORE_new()) {
  if (!root_certificate_) throw Damaged("this is no certificate");
  X509* const it = root_certificate_.get();
  run_ = id_of(it);
  if (X509_verify(it, X509_get0_pubkey(it)) != 1 || X509_check_ca(it) == 0) {
    ERR_clear_error();
    throw Damaged("this is no certificate of a run");
  }
  if (X509_STORE_add_cert(store_.get(), it) != 1) openssl_failed("the certificate of the run");
}

std::optional<std::string> Trust::refusal(X509* certificate, STACK_OF(X509) * shown, Instant now) const {
  MemberId id;
  try {
    id = id_of(certificate);
  } catch (const Damaged& error) {
    return error.what();
  }
  if (is_revoked(id)) return "its member was revoked";
  // A warrant is no member's: it lives for years.
  if (X509_check_ca(certificate) != 0) return "it is no member's certificate";
  const Openssl<STACK_OF(X509)> others(sk_X509_new_null());
  for (const std::string& warrant : warrants())
    if (auto read = read_certificate(warrant)) sk_X509_push(others.get(), read.release());
  for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i) {
    X509* other = sk_X509_value(shown, i);
    X509_up_ref(other);
    sk_X509_push(others.get(), other);
  }
  const Openssl<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store_.get(), certificate, others.get()) != 1)
    return openssl_words();
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(how, std::chrono::system_clock::to_time_t(now));
  X509_VERIFY_PARAM_set_depth(how, 2);
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (!good) return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  STACK_OF(X509)* const chain = X509_STORE_CTX_get0_chain(context.get());
  if (sk_X509_num(chain) != 3) return "no inviter has signed it";
  if (is_revoked(id_of(sk_X509_value(chain, 1)))) return "who signed it was revoked";
  return {};
}

bool Trust::learn(const std::string& warrant) {
  const auto read = read_certificate(warrant);
  if (!read || X509_check_ca(read.get()) == 0) return false;
  if (X509_verify(read.get(), X509_get0_pubkey(root_certificate_.get())) != 1) {
    ERR_clear_error();
    return false;
  }
  try {
    const std::lock_guard lock(mutex_);
    if (warrants_.size() >= kMostWarrants) return false;
    const MemberId id = id_of(read.get());
    return id != run_ && warrants_.emplace(id, warrant).second;
  } catch (const Damaged&) {
    return false;
  }
}

std::vector<std::string> Trust::warrants() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [id, warrant] : warrants_) all.push_back(warrant);
  return all;
}

Openssl<EVP_PKEY> Trust::inviter(const MemberId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = warrants_.find(id);
  if (found == warrants_.end() || revocations_.contains(id)) return nullptr;
  const auto read = read_certificate(found->second);
  return Openssl<EVP_PKEY>(read ? X509_get_pubkey(read.get()) : nullptr);
}

bool Trust::learn(const Revocation& revocation) {
  const auto by = inviter(revocation.by);
  if (!by || !is_signed(signed_text(run_, revocation), revocation.signature, by.get())) return false;
  const std::lock_guard lock(mutex_);
  return revocations_.size() < kMostRevocations && revocations_.emplace(revocation.member, revocation).second;
}

std::vector<Revocation> Trust::revocations() const {
  const std::lock_guard lock(mutex_);
  std::vector<Revocation> all;
  for (const auto& [id, revocation] : revocations_) all.push_back(revocation);
  return all;
}

bool Trust::is_revoked(const MemberId& id) const {
  const std::lock_guard lock(mutex_);
  return revocations_.contains(id);
}

std::vector<std::string> proofs_of(const std::string& certificate, const Trust& trust) {
  std::vector<std::string> proofs = trust.warrants();
  const auto own = read_certificate(certificate);
  std::erase_if(proofs, [&](const std::string& proof) {
    const auto read = read_certificate(proof);
    return !own || !read ||
           X509_NAME_cmp(X509_get_issuer_name(own.get()), X509_get_subject_name(read.get())) != 0;
  });
  return proofs;
}

}  // namespace veche::grid
