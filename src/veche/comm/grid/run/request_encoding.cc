// Encoding of requests between members; the readers trust no input.
#include "veche/comm/grid/run/console.h"
#include "veche/comm/grid/run/joining.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::size_t kLongestWord = 256;
constexpr std::size_t kLongestAnswer = 4U << 20;
constexpr std::size_t kLongestDer = 4096;
constexpr std::size_t kLongestPart = 4096;
constexpr std::size_t kMostSeats = 65536;

}  // namespace

std::string coded(const JoinRequest& request) {
  Writer writer;
  writer.raw(request.ticket.coded()).bytes(request.proof).number(request.incarnation).number(request.nodes);
  writer.text(request.name.substr(0, kLongestWord))
      .number(static_cast<std::uint32_t>(request.addresses.size()));
  for (const std::string& address : request.addresses) writer.text(address);
  return writer.take();
}

JoinRequest read_join_request(std::string_view text) {
  Reader reader(text);
  JoinRequest request;
  request.ticket = Ticket::read(reader);
  request.proof = reader.bytes<64>();
  request.incarnation = reader.number<std::uint64_t>();
  request.nodes = reader.number<std::uint32_t>();
  request.name = reader.text(kLongestWord);
  request.addresses.resize(reader.count(16, 4));
  for (std::string& address : request.addresses) address = reader.text(kLongestWord);
  reader.end();
  if (request.nodes == 0 || request.nodes > 65536) throw MalformedMessage("it has no nodes, or too many");
  return request;
}

std::string coded(const JoinAnswer& answer) {
  Writer writer;
  writer.number(static_cast<std::uint8_t>(answer.verdict)).text(answer.sentence);
  writer.text(answer.root).text(answer.certificate).text(answer.warrant).text(answer.trust);
  writer.text(answer.configuration).text(coded(answer.members));
  return writer.take();
}

JoinAnswer read_join_answer(std::string_view text) {
  Reader reader(text);
  JoinAnswer answer;
  const auto verdict = reader.number<std::uint8_t>();
  if (verdict < 1 || verdict > 3) throw MalformedMessage("there is no such answer");
  answer.verdict = static_cast<JoinAnswer::Verdict>(verdict);
  answer.sentence = reader.text(4 * kLongestWord);
  answer.root = reader.text(kLongestDer);
  answer.certificate = reader.text(kLongestDer);
  answer.warrant = reader.text(kLongestDer);
  answer.trust = reader.text(kLongestAnswer);
  answer.configuration = reader.text(kLongestAnswer);
  answer.members = read_members(reader.text(kLongestAnswer));
  reader.end();
  return answer;
}

std::string coded(const SignRequest& request) {
  return Writer().bytes(request.key).raw(request.ticket.coded()).take();
}

SignRequest read_sign_request(std::string_view text) {
  Reader reader(text);
  SignRequest request;
  request.key = reader.bytes<32>();
  request.ticket = Ticket::read(reader);
  reader.end();
  return request;
}

std::string coded(const Signed& certificates) {
  return Writer().text(certificates.certificate).text(certificates.warrant).take();
}

Signed read_signed(std::string_view text) {
  Reader reader(text);
  Signed certificates;
  certificates.certificate = reader.text(kLongestDer);
  certificates.warrant = reader.text(kLongestDer);
  reader.end();
  return certificates;
}

std::string coded(const Request& request) {
  return Writer()
      .number(static_cast<std::uint8_t>(request.what))
      .text(request.id)
      .number(request.terms.uses)
      .number(static_cast<std::int64_t>(request.terms.valid.count()))
      .take();
}

Request read_request(std::string_view text) {
  Reader reader(text);
  Request request;
  const auto what = reader.number<std::uint8_t>();
  if (what < 1 || what > 4) throw MalformedMessage("there is no such request");
  request.what = static_cast<Request::What>(what);
  request.id = reader.text(64);
  request.terms.uses = reader.number<std::uint32_t>();
  request.terms.valid = std::chrono::seconds(reader.number<std::int64_t>());
  reader.end();
  return request;
}

std::string coded(const Status& status) {
  Writer writer;
  writer.number(status.run).number(status.view).number(status.first_step);
  writer.number(static_cast<std::uint32_t>(status.members.size()));
  for (const MemberStatus& each : status.members) {
    writer.bytes(each.member.id.bytes).number(each.member.incarnation).text(each.member.name);
    writer.number(static_cast<std::uint32_t>(each.member.addresses.size()));
    for (const std::string& address : each.member.addresses) writer.text(address);
    writer.number(each.member.nodes).real(each.member.speed).bytes(each.member.inviter.bytes);
    writer.number(static_cast<std::int32_t>(each.seat)).text(each.state).real(each.since);
    writer.number(each.step).text(each.address).real(each.round_trip);
    writer.number(each.sent).number(each.received);
  }
  return writer.take();
}

Status read_status(std::string_view text) {
  Reader reader(text);
  Status status;
  status.run = reader.number<std::uint64_t>();
  status.view = reader.number<std::uint64_t>();
  status.first_step = reader.number<std::uint64_t>();
  status.members.resize(reader.count(kMostSeats, 64));
  for (MemberStatus& each : status.members) {
    each.member.id.bytes = reader.bytes<32>();
    each.member.incarnation = reader.number<std::uint64_t>();
    each.member.name = reader.text(kLongestPart);
    each.member.addresses.resize(reader.count(64, 4));
    for (std::string& address : each.member.addresses) address = reader.text(kLongestPart);
    each.member.nodes = reader.number<std::uint32_t>();
    each.member.speed = reader.real();
    each.member.inviter.bytes = reader.bytes<32>();
    each.seat = reader.number<std::int32_t>();
    each.state = reader.text(kLongestPart);
    each.since = reader.real();
    each.step = reader.number<std::uint64_t>();
    each.address = reader.text(kLongestPart);
    each.round_trip = reader.real();
    each.sent = reader.number<std::uint64_t>();
    each.received = reader.number<std::uint64_t>();
  }
  reader.end();
  return status;
}

}  // namespace veche::grid
