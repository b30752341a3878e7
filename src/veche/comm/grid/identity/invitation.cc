#include "veche/comm/grid/identity/invitation.h"

#include <openssl/evp.h>

#include <algorithm>

#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr std::string_view kPrefix = "VECHE1-";
constexpr std::size_t kLongest = 4096;  // length of the text
constexpr std::size_t kMostPlaces = 16;
constexpr std::size_t kLongestAddress = 256;
constexpr std::size_t kCheck = 4;  // bytes of a hash, to detect lost characters

// URL-safe base 64, which survives file names and double clicks.
std::string encoded(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  while (!text.empty() && text.back() == '=') text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::string decoded(std::string_view given) {
  std::string text(given);
  const auto allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
  };
  if (!std::ranges::all_of(text, allowed)) throw MalformedMessage("it contains invalid characters");
  if (text.size() % 4 == 1) throw MalformedMessage("it ends too early");
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  const std::size_t missing = (4 - text.size() % 4) % 4;
  text.append(missing, '=');
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())) < 0)
    throw MalformedMessage("it is not in base 64");
  bytes.resize(bytes.size() - missing);
  return bytes;
}

std::string check_of(std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int length = 0;
  EVP_Digest(body.data(), body.size(), hash.data(), &length, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(hash.data()), kCheck};
}

std::string promise(const MemberId& run, const Ticket& ticket) {
  return Writer()
      .raw("veche invites")
      .bytes(run.bytes)
      .bytes(ticket.secret_of)
      .bytes(ticket.inviter.bytes)
      .number(ticket.expires)
      .number(ticket.uses)
      .take();
}

std::string session_text(const MemberId& run, const Ticket& ticket, std::string_view session,
                         const MemberId& newcomer, const MemberId& host) {
  return Writer()
      .raw("veche joins")
      .bytes(run.bytes)
      .bytes(ticket.secret_of)
      .text(session)
      .bytes(newcomer.bytes)
      .bytes(host.bytes)
      .take();
}

}  // namespace

std::string Ticket::coded() const {
  return Writer().bytes(secret_of).bytes(inviter.bytes).number(expires).number(uses).bytes(signature).take();
}

Ticket Ticket::read(Reader& reader) {
  Ticket ticket;
  ticket.secret_of = reader.bytes<32>();
  ticket.inviter.bytes = reader.bytes<32>();
  ticket.expires = reader.number<std::int64_t>();
  ticket.uses = reader.number<std::uint32_t>();
  ticket.signature = reader.bytes<64>();
  return ticket;
}

std::string Ticket::name() const { return hex(MemberId{secret_of}).substr(0, 32); }

std::string InvitationLine::text() const {
  // Leaves out what follows from the secret.
  Writer writer;
  writer.bytes(run.bytes).bytes(secret).bytes(ticket.inviter.bytes).number(ticket.expires);
  writer.number(ticket.uses).bytes(ticket.signature);
  writer.number(static_cast<std::uint8_t>(addresses.size()));
  for (const std::string& address : addresses)
    writer.number(static_cast<std::uint8_t>(address.size())).raw(address);
  return std::string(kPrefix) + encoded(writer.str() + check_of(writer.str()));
}

InvitationLine InvitationLine::parse(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  if (!text.starts_with(kPrefix))
    throw RequestError("this is no invitation: one begins with " + std::string(kPrefix));
  if (text.size() > kLongest) throw RequestError("this is no invitation: it is too long");
  try {
    const std::string bytes = decoded(text.substr(kPrefix.size()));
    if (bytes.size() < kCheck) throw MalformedMessage("it ends too early");
    const std::string_view body = std::string_view(bytes).substr(0, bytes.size() - kCheck);
    if (check_of(body) != std::string_view(bytes).substr(body.size()))
      throw MalformedMessage("a letter is missing or wrong");
    Reader reader(body);
    InvitationLine invitation;
    invitation.run.bytes = reader.bytes<32>();
    invitation.secret = reader.bytes<32>();
    invitation.ticket.inviter.bytes = reader.bytes<32>();
    invitation.ticket.expires = reader.number<std::int64_t>();
    invitation.ticket.uses = reader.number<std::uint32_t>();
    invitation.ticket.signature = reader.bytes<64>();
    invitation.ticket.secret_of = KeyPair::of(invitation.secret).public_key();
    const std::size_t addresses = reader.number<std::uint8_t>();
    if (addresses > kMostPlaces) throw MalformedMessage("it has too many addresses");
    for (std::size_t i = 0; i < addresses; ++i)
      invitation.addresses.emplace_back(reader.raw(reader.number<std::uint8_t>()));
    reader.end();
    return invitation;
  } catch (const MalformedMessage& error) {
    throw RequestError(std::string("the invitation is damaged: ") + error.what() + "; copy it whole");
  }
}

InvitationLine make_invitation(const MemberId& run, const KeyPair& inviter,
                               std::vector<std::string> addresses, std::uint32_t uses, Instant expires) {
  const KeyPair secret = KeyPair::make();
  InvitationLine invitation{run, secret.seed(), {}, std::move(addresses)};
  if (invitation.addresses.size() > kMostPlaces) invitation.addresses.resize(kMostPlaces);
  std::erase_if(invitation.addresses, [](const std::string& each) { return each.size() >= kLongestAddress; });
  invitation.ticket = {
      secret.public_key(), inviter.id(), std::chrono::system_clock::to_time_t(expires), uses, {}};
  invitation.ticket.signature = inviter.sign(promise(run, invitation.ticket));
  return invitation;
}

std::optional<std::string> refusal(const Trust& trust, const Ticket& ticket, std::uint32_t used,
                                   Instant now) {
  const auto inviter = trust.inviter(ticket.inviter);
  if (!inviter) return "the inviter has no valid warrant";
  if (!is_signed(promise(trust.run(), ticket), ticket.signature, inviter.get()))
    return "the invitation was forged";
  if (std::chrono::system_clock::to_time_t(now) >= ticket.expires)
    return "the invitation has expired: ask for a new one";
  if (used >= ticket.uses)
    return "the invitation is spent: it was good for " + std::to_string(ticket.uses) + "; ask for a new one";
  return {};
}

Signature prove(const InvitationLine& invitation, std::string_view session, const MemberId& newcomer,
                const MemberId& host) {
  return KeyPair::of(invitation.secret)
      .sign(session_text(invitation.run, invitation.ticket, session, newcomer, host));
}

bool is_proven(const MemberId& run, const Ticket& ticket, std::string_view session, const MemberId& newcomer,
               const MemberId& host, const Signature& proof) {
  return is_signed(session_text(run, ticket, session, newcomer, host), proof, ticket.secret_of);
}

}  // namespace veche::grid
