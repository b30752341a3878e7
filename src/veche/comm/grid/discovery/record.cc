#include "veche/comm/grid/discovery/record.h"

#include <openssl/rand.h>

#include "veche/comm/grid/discovery/topic.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::size_t kMostRecorded = 16;
constexpr std::size_t kLongestRecorded = 256;
constexpr std::size_t kLongestShown = 4096;
constexpr std::int64_t kGoodFor = 600;  // seconds in either direction, since clocks differ
constexpr std::size_t kNonce = 12, kTag = 16;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* it) const { EVP_CIPHER_CTX_free(it); }
};

// AES-128-GCM over all of `text`. Sealing appends the tag; opening checks it and returns false on a
// mismatch.
bool crypt(const MemberId& run, bool seals, const std::string& nonce, std::string_view text, std::string& tag,
           std::string& out) {
  const auto key = topic_of(run, "seal");
  const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context(EVP_CIPHER_CTX_new());
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  int length = 0, last = 0;
  out.resize(text.size());
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  if (EVP_CipherInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, key.data(),
                        reinterpret_cast<const unsigned char*>(nonce.data()), seals ? 1 : 0) != 1 ||
      EVP_CipherUpdate(context.get(), to, &length, from, static_cast<int>(text.size())) != 1)
    return false;
  if (!seals && EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) != 1) return false;
  if (EVP_CipherFinal_ex(context.get(), to + length, &last) != 1) return false;
  tag.resize(kTag);
  return !seals || EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag, tag.data()) == 1;
}

std::string signed_part(const MemberId& run, const AddressRecord& record) {
  Writer writer;
  writer.raw("veche address ").bytes(run.bytes).number(record.time);
  writer.list(record.addresses, [&](const std::string& each) { writer.text(each); });
  return writer.take();
}

}  // namespace

std::string coded(const AddressRecord& record) {
  Writer writer;
  writer.text(record.certificate).text(record.warrant).number(record.time);
  writer.list(record.addresses, [&](const std::string& each) { writer.text(each); });
  return writer.bytes(record.signature).take();
}

AddressRecord read_address_record(std::string_view text) {
  Reader reader(text);
  AddressRecord record;
  record.certificate = reader.text(kLongestShown);
  record.warrant = reader.text(kLongestShown);
  record.time = reader.number<std::int64_t>();
  record.addresses.resize(reader.count(kMostRecorded, 4));
  for (std::string& each : record.addresses) each = reader.text(kLongestRecorded);
  record.signature = reader.bytes<64>();
  reader.end();
  return record;
}

std::string seal(const MemberId& run, const AddressRecord& record) {
  std::string nonce(kNonce, 0), tag, out;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), kNonce) != 1 ||
      !crypt(run, true, nonce, coded(record), tag, out))
    openssl_failed("sealing");
  return nonce + tag + out;
}

std::optional<AddressRecord> unseal(const MemberId& run, std::string_view sealed) {
  if (sealed.size() < kNonce + kTag) return {};
  std::string tag(sealed.substr(kNonce, kTag)), out;
  if (!crypt(run, false, std::string(sealed.substr(0, kNonce)), sealed.substr(kNonce + kTag), tag, out))
    return {};
  try {
    return read_address_record(out);
  } catch (const MalformedMessage&) {
    return {};
  }
}

AddressRecord make_address_record(const MemberId& run, const KeyPair& key, const std::string& certificate,
                                  const std::string& warrant, const std::vector<std::string>& addresses,
                                  Instant now) {
  AddressRecord record{certificate, warrant, std::chrono::system_clock::to_time_t(now), addresses, {}};
  if (record.addresses.size() > kMostRecorded) record.addresses.resize(kMostRecorded);
  record.signature = key.sign(signed_part(run, record));
  return record;
}

bool is_genuine(const AddressRecord& record, const Trust& trust, Instant now) {
  const auto certificate = read_certificate(record.certificate);
  if (!certificate || std::abs(std::chrono::system_clock::to_time_t(now) - record.time) > kGoodFor)
    return false;
  const Openssl<STACK_OF(X509)> shown(sk_X509_new_null());
  if (auto warrant = read_certificate(record.warrant)) sk_X509_push(shown.get(), warrant.release());
  return !trust.refusal(certificate.get(), shown.get(), now) &&
         is_signed(signed_part(trust.run(), record), record.signature, X509_get0_pubkey(certificate.get()));
}

}  // namespace veche::grid
