#include "veche/comm/grid/identity/certificates.h"

#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <ctime>

#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::chrono::hours kClocksDiffer{1};
constexpr char kNewcomer[] = "newcomer";

struct Wanted {
  std::string subject, issuer;
  EVP_PKEY* key = nullptr;
  const KeyPair& signer;
  std::chrono::hours life;
  const char* constraints;
  const char* usage;
};

void name_it(X509_NAME* name, const std::string& text) {
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(text.data()),
                                 static_cast<int>(text.size()), -1, 0) != 1)
    openssl_failed("a certificate cannot be made");
}

void extend(X509* certificate, int what, const char* value) {
  const Openssl<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, what, value));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    openssl_failed("a certificate cannot be made");
}

std::string make(const Wanted& wanted, Instant now) {
  const Openssl<X509> certificate(X509_new());
  X509* it = certificate.get();
  X509_set_version(it, X509_VERSION_3);
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1)
    openssl_failed("no random number");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(it), serial >> 1);
  ASN1_TIME_set(X509_getm_notBefore(it), std::chrono::system_clock::to_time_t(now - kClocksDiffer));
  ASN1_TIME_set(X509_getm_notAfter(it), std::chrono::system_clock::to_time_t(now + wanted.life));
  name_it(X509_get_subject_name(it), wanted.subject);
  name_it(X509_get_issuer_name(it), wanted.issuer);
  if (X509_set_pubkey(it, wanted.key) != 1) openssl_failed("a certificate cannot be made");
  extend(it, NID_basic_constraints, wanted.constraints);
  extend(it, NID_key_usage, wanted.usage);
  if (X509_sign(it, wanted.signer.get(), nullptr) <= 0) openssl_failed("a certificate cannot be signed");
  return der_of(it);
}

std::string text_of(X509_NAME* name) {
  std::array<char, 65> text{};
  const int length =
      X509_NAME_get_text_by_NID(name, NID_commonName, text.data(), static_cast<int>(text.size()));
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

std::string make_warrant_by(const KeyPair& signer, const std::string& name, EVP_PKEY* member, Instant now) {
  return make({inviter_name(id_of(member)), name, member, signer, kWarrantLife, "critical,CA:TRUE",
               "critical,keyCertSign,cRLSign"},
              now);
}

}  // namespace

// At most 64 characters.
std::string run_name(const MemberId& run) { return "run " + hex(run).substr(0, 40); }
std::string inviter_name(const MemberId& inviter) { return "inviter " + hex(inviter).substr(0, 40); }
std::string subject_of(X509* certificate) { return text_of(X509_get_subject_name(certificate)); }
std::string issuer_of(X509* certificate) { return text_of(X509_get_issuer_name(certificate)); }

std::string make_root(const KeyPair& root, Instant now) {
  const std::string name = run_name(root.id());
  return make(
      {name, name, root.get(), root, 2 * kWarrantLife, "critical,CA:TRUE", "critical,keyCertSign,cRLSign"},
      now);
}

std::string make_root_warrant(const KeyPair& root, EVP_PKEY* founder, Instant now) {
  return make_warrant_by(root, run_name(root.id()), founder, now);
}

std::string make_warrant(const KeyPair& inviter, EVP_PKEY* member, Instant now) {
  return make_warrant_by(inviter, inviter_name(inviter.id()), member, now);
}

std::string make_member(const KeyPair& inviter, EVP_PKEY* member, Instant now) {
  return make({hex(id_of(member)), inviter_name(inviter.id()), member, inviter, kMemberLife,
               "critical,CA:FALSE", "critical,digitalSignature"},
              now);
}

std::string make_newcomer(const KeyPair& newcomer, Instant now) {
  return make({kNewcomer, kNewcomer, newcomer.get(), newcomer, kMemberLife, "critical,CA:FALSE",
               "critical,digitalSignature"},
              now);
}

Openssl<X509> read_certificate(const std::string& der) {
  const auto* from = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = from + der.size();
  Openssl<X509> certificate(d2i_X509(nullptr, &from, static_cast<long>(der.size())));
  ERR_clear_error();
  if (certificate && from != end) certificate.reset();
  return certificate;
}

std::string der_of(X509* certificate) {
  unsigned char* coded = nullptr;
  const int length = i2d_X509(certificate, &coded);
  if (length <= 0) openssl_failed("a certificate cannot be written");
  std::string der(reinterpret_cast<const char*>(coded), static_cast<std::size_t>(length));
  OPENSSL_free(coded);
  return der;
}

MemberId id_of(X509* certificate) {
  EVP_PKEY* key = X509_get0_pubkey(certificate);
  if (key == nullptr || EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
    ERR_clear_error();
    throw MalformedMessage("the certificate's key is none of Ed25519");
  }
  return id_of(key);
}

bool is_newcomer(X509* certificate) { return subject_of(certificate) == kNewcomer; }

Instant expiry_of(X509* certificate) {
  std::tm when{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) != 1) return {};
  return std::chrono::system_clock::from_time_t(timegm(&when));
}

}  // namespace veche::grid
