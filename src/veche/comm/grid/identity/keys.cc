#include "veche/comm/grid/identity/keys.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include "veche/errors.h"

namespace veche::grid {

std::string openssl_words() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

void openssl_failed(const std::string& what) { throw RunError(what + ": " + openssl_words()); }

KeyPair KeyPair::make() {
  Openssl<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) openssl_failed("no key can be made");
  return KeyPair(std::move(key));
}

KeyPair KeyPair::of(const Seed& seed) {
  Openssl<EVP_PKEY> key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  if (!key) openssl_failed("a key cannot be read");
  return KeyPair(std::move(key));
}

KeyPair KeyPair::from_pem(const std::string& text) {
  const Openssl<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // An empty password, so that no prompt appears.
  Openssl<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>("")));
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    ERR_clear_error();
    throw RequestError("this is no private key of Ed25519 in PEM form");
  }
  return KeyPair(std::move(key));
}

std::string KeyPair::pem() const {
  const Openssl<BIO> bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    openssl_failed("a key cannot be written");
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(length)};
}

Seed KeyPair::seed() const {
  Seed seed{};
  std::size_t length = seed.size();
  if (EVP_PKEY_get_raw_private_key(get(), seed.data(), &length) != 1) openssl_failed("a key cannot be read");
  return seed;
}

PublicKey KeyPair::public_key() const {
  PublicKey key{};
  std::size_t length = key.size();
  if (EVP_PKEY_get_raw_public_key(get(), key.data(), &length) != 1) openssl_failed("a key cannot be read");
  return key;
}

MemberId KeyPair::id() const { return id_of(get()); }

Signature KeyPair::sign(std::string_view text) const {
  const Openssl<EVP_MD_CTX> context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t length = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &length,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1)
    openssl_failed("nothing can be signed");
  return signature;
}

bool is_signed(std::string_view text, const Signature& signature, EVP_PKEY* by) {
  const Openssl<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, by) == 1 &&
                    EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  ERR_clear_error();
  return good;
}

bool is_signed(std::string_view text, const Signature& signature, const PublicKey& by) {
  const Openssl<EVP_PKEY> key = as_key(by);
  return key && is_signed(text, signature, key.get());
}

Openssl<EVP_PKEY> as_key(const PublicKey& key) {
  return Openssl<EVP_PKEY>(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
}

MemberId id_of(EVP_PKEY* key) {
  unsigned char* coded = nullptr;
  const int length = i2d_PUBKEY(key, &coded);
  if (length <= 0) openssl_failed("a public key cannot be read");
  MemberId id;
  SHA256(coded, static_cast<std::size_t>(length), id.bytes.data());
  OPENSSL_free(coded);
  return id;
}

}  // namespace veche::grid
