#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "veche/comm/grid/identity/openssl.h"
#include "veche/comm/grid/member.h"

namespace veche::grid {

using PublicKey = std::array<std::uint8_t, 32>;  // of Ed25519
using Signature = std::array<std::uint8_t, 64>;
using Seed = std::array<std::uint8_t, 32>;  // a private key

// A key pair. A copy is the same pair.
class KeyPair {
 public:
  static KeyPair make();
  static KeyPair of(const Seed& seed);
  // Throws RequestError if the text is not a key.
  static KeyPair from_pem(const std::string& text);

  std::string pem() const;
  Seed seed() const;
  PublicKey public_key() const;
  MemberId id() const;
  Signature sign(std::string_view text) const;
  EVP_PKEY* get() const { return key_.get(); }

 private:
  explicit KeyPair(Openssl<EVP_PKEY> key) : key_(std::move(key)) {}
  std::shared_ptr<EVP_PKEY> key_;
};

bool is_signed(std::string_view text, const Signature& signature, EVP_PKEY* by);
bool is_signed(std::string_view text, const Signature& signature, const PublicKey& by);
Openssl<EVP_PKEY> as_key(const PublicKey& key);
// The SHA-256 of the key as encoded in certificates.
MemberId id_of(EVP_PKEY* key);

}  // namespace veche::grid
