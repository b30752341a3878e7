// Messages from other members, and invitations passed on by people.
#include <cstdlib>

#include "tests/fuzz/targets.h"
#include "veche/comm/grid/discovery/lan_messages.h"
#include "veche/comm/grid/discovery/record.h"
#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/links/frames.h"
#include "veche/comm/grid/relay/relay_messages.h"
#include "veche/comm/grid/run/console.h"
#include "veche/comm/grid/run/joining.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::fuzz {
namespace {

// Encoding the parsed value gives the same bytes.
void must_be(std::string_view written, std::string_view read) {
  if (written != read) std::abort();
}

// Warrants, revocations and a certificate from a stranger: none can be valid.
void told_by_a_stranger(const std::string& bytes) {
  static const grid::KeyPair root = grid::KeyPair::of({1}), founder = grid::KeyPair::of({2});
  static const grid::Instant now = std::chrono::system_clock::now();
  static grid::Trust trust(make_root(root, now));
  static const bool knows = trust.learn(make_root_warrant(root, founder.get(), now));
  const auto certificate = grid::read_certificate(bytes);
  if (!knows || trust.learn(bytes) || (certificate && !trust.refusal(certificate.get(), nullptr, now)))
    std::abort();
  learn_trust(trust, bytes);
  if (trust.warrants().size() != 1 || !trust.revocations().empty()) std::abort();
}

}  // namespace

void grid_frame(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::string own(bytes.begin() + 1, bytes.end());
  try {
    switch (bytes.front() % 16) {
      case 0:
        if (own.size() < grid::kHeaderBytes) return;
        must_be(coded(grid::read_header(
                    std::span<const char, grid::kHeaderBytes>(own.data(), grid::kHeaderBytes))),
                std::string_view(own).substr(0, grid::kHeaderBytes));
        return;
      case 1:
        return must_be(coded(grid::read_data_head(own)),
                       std::string_view(own).substr(0, grid::kDataHeadBytes));
      case 2:
        return must_be(coded(grid::read_hello(own)), own);
      case 3:
        grid::read_join_request(own);
        return;
      case 4:
        return must_be(coded(grid::read_join_answer(own)), own);
      case 5:
        grid::read_sign_request(own);
        return;
      case 6:
        return must_be(coded(grid::read_signed(own)), own);
      case 7:
        return must_be(grid::Revocation::parse(own).coded(), own);
      case 8:
        return must_be(coded(grid::read_status(own)), own);
      case 9:
        return must_be(coded(grid::read_introduction(own)), own);
      case 10:
        return must_be(coded(grid::read_relayed(own)), own);
      case 11:
        if (own.size() < grid::kPreambleBytes) return;
        return must_be(grid::preamble(grid::read_preamble(
                           std::span<const char, grid::kPreambleBytes>(own.data(), grid::kPreambleBytes))),
                       std::string_view(own).substr(0, grid::kPreambleBytes));
      case 12:
        must_be(grid::coded(grid::read_token(own)), own);
        return must_be(coded(grid::read_id(own)), own);
      case 13:
        return must_be(coded(grid::read_lan_word(own)), own);
      case 14:
        return must_be(coded(grid::read_address_record(own)), own);
      default:
        return told_by_a_stranger(own);
    }
  } catch (const grid::MalformedMessage&) {
  }
}

void invitation(std::span<const std::uint8_t> bytes) {
  try {
    const grid::InvitationLine read = grid::InvitationLine::parse(std::string(bytes.begin(), bytes.end()));
    must_be(grid::InvitationLine::parse(read.text()).text(), read.text());
  } catch (const RequestError&) {
  }
}

}  // namespace veche::fuzz
