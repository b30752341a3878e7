#include "veche/comm/grid/membership/messages.h"

#include <algorithm>

#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kStoredVersion = 3, kStoredWithoutEpochs = 2;
constexpr std::size_t kMostName = 64, kMostAddresses = 8, kMostAddress = 262, kMostInvitation = 128;
constexpr std::size_t kMostNodes = 1024, kMostSigned = 4096, kMostWhy = 1024;
constexpr std::size_t kIdBytes = sizeof(MemberId::bytes), kStatusBytes = 25;
constexpr double kMostEpochs = 1e15;
constexpr std::size_t kLeastMember = 2 * kIdBytes + 28;

void put(Writer& out, const MemberId& id) { out.bytes(id.bytes); }
void put(Writer& out, const NodeStatus& status) {
  out.number(status.done_step);
  out.number(status.state_hash);
  out.number(status.samples);
  out.number(std::uint8_t{status.has_test});
  out.real(status.epochs);
}
void put(Writer& out, const std::vector<NodeStatus>& status) {
  out.list(status, [&](const NodeStatus& one) { put(out, one); });
}
void put(Writer& out, const Ballot& ballot) {
  out.number(ballot.round);
  out.number(ballot.seat);
}
void put(Writer& out, const ViewId& id) {
  out.number(id.lineage);
  out.number(id.number);
}
// Truncates names and addresses to the limits: they are for people and for dialling.
void put(Writer& out, const Member& member) {
  put(out, member.id);
  out.number(member.incarnation);
  out.text(member.name.substr(0, kMostName));
  std::vector<std::string> addresses;
  for (const std::string& address : member.addresses)
    if (address.size() <= kMostAddress && addresses.size() < kMostAddresses) addresses.push_back(address);
  out.list(addresses, [&](const std::string& address) { out.text(address); });
  out.number(member.nodes);
  out.real(member.speed);
  put(out, member.inviter);
}
void put(Writer& out, const MembershipView& membership) {
  out.number(membership.run);
  out.number(membership.lineage);
  out.number(membership.number);
  out.list(membership.members, [&](const Member& member) { put(out, member); });
  out.number(membership.first_step);
  out.number(membership.state_hash);
  out.list(membership.invitations_used, [&](const auto& used) {
    out.text(used.first);
    out.number(used.second);
  });
  out.list(membership.admitted, [&](const MemberId& id) { put(out, id); });
  out.list(membership.revoked, [&](const MemberId& id) { put(out, id); });
}
void put(Writer& out, const AgreedView& view) {
  put(out, view.membership);
  for (const auto& status : view.statuses) put(out, status);  // one per member
}
void put(Writer& out, const std::optional<AcceptedView>& accepted) {
  out.number(std::uint8_t{accepted.has_value()});
  if (!accepted) return;
  put(out, accepted->ballot);
  put(out, accepted->view);
}

MemberId get_id(Reader& in) { return {in.bytes<kIdBytes>()}; }
// The format version: files of an earlier version have no epochs.
enum class With { epochs, no_epochs };
std::vector<NodeStatus> get_status(Reader& in, With with = With::epochs) {
  std::vector<NodeStatus> status(in.count(kMostNodes, kStatusBytes));
  for (NodeStatus& one : status) {
    one.done_step = in.number<std::uint64_t>();
    one.state_hash = in.number<std::uint64_t>();
    one.samples = in.number<std::uint64_t>();
    one.has_test = in.flag();
    if (with == With::epochs) one.epochs = in.real();
    if (!(one.epochs >= -1 && one.epochs <= kMostEpochs)) throw MalformedMessage("invalid number of epochs");
  }
  return status;
}
Ballot get_ballot(Reader& in) {
  Ballot ballot;
  ballot.round = in.number<std::uint64_t>();
  ballot.seat = in.number<std::uint32_t>();
  return ballot;
}
ViewId get_view_id(Reader& in) {
  ViewId id;
  id.lineage = in.number<std::uint64_t>();
  id.number = in.number<std::uint64_t>();
  return id;
}
Member get_member(Reader& in) {
  Member member;
  member.id = get_id(in);
  member.incarnation = in.number<std::uint64_t>();
  member.name = in.text(kMostName);
  member.addresses.resize(in.count(kMostAddresses, sizeof(std::uint32_t)));
  for (std::string& address : member.addresses) address = in.text(kMostAddress);
  member.nodes = in.number<std::uint32_t>();
  member.speed = in.real();
  member.inviter = get_id(in);
  if (member.nodes == 0 || member.nodes > kMostNodes || !(member.speed >= 0))
    throw MalformedMessage("a member in it cannot be");
  return member;
}
std::set<MemberId> get_ids(Reader& in, std::size_t most) {
  std::set<MemberId> ids;
  for (std::size_t left = in.count(most, kIdBytes); left > 0; --left) ids.insert(ids.end(), get_id(in));
  return ids;
}
MembershipView get_membership(Reader& in) {
  MembershipView membership;
  membership.run = in.number<std::uint64_t>();
  membership.lineage = in.number<std::uint64_t>();
  membership.number = in.number<std::uint64_t>();
  const std::size_t members = in.count(kMostMembers, kLeastMember);
  std::set<MemberId> seen;
  for (std::size_t i = 0; i < members; ++i) {
    membership.members.push_back(get_member(in));
    if (!seen.insert(membership.members.back().id).second) throw MalformedMessage("a member has two seats");
  }
  membership.first_step = in.number<std::uint64_t>();
  membership.state_hash = in.number<std::uint64_t>();
  for (std::size_t left = in.count(kMostInvitations, 8); left > 0; --left) {
    std::string id = in.text(kMostInvitation);
    membership.invitations_used[std::move(id)] = in.number<std::uint32_t>();
  }
  membership.admitted = get_ids(in, kMostAdmitted);
  membership.revoked = get_ids(in, kMostAdmitted);
  return membership;
}
AgreedView get_view(Reader& in, With with = With::epochs) {
  AgreedView view;
  view.membership = get_membership(in);
  for (std::size_t i = 0; i < view.membership.members.size(); ++i)
    view.statuses.push_back(get_status(in, with));
  return view;
}
std::optional<AcceptedView> get_accepted(Reader& in, With with = With::epochs) {
  if (!in.flag()) return std::nullopt;
  AcceptedView accepted;
  accepted.ballot = get_ballot(in);
  accepted.view = get_view(in, with);
  return accepted;
}

struct PutBody {
  Writer& out;
  void operator()(const Observation& m) const {
    out.number(m.sequence);
    out.number(std::uint8_t{m.stopped});
    out.number(std::uint8_t{m.leaving});
    out.list(m.missed, [&](std::uint32_t seat) { out.number(seat); });
  }
  void operator()(const Ready& m) const {
    put(out, m.member);
    put(out, m.status);
  }
  void operator()(const Vouch& m) const {
    put(out, m.newcomer);
    out.text(m.invitation.id);
    out.number(m.invitation.uses);
  }
  void operator()(const Prepare& m) const {
    put(out, m.next);
    put(out, m.ballot);
  }
  void operator()(const Promise& m) const {
    put(out, m.next);
    put(out, m.ballot);
    out.number(std::uint8_t{m.vote});
    put(out, m.accepted);
    put(out, m.member);
    put(out, m.status);
  }
  void operator()(const Accept& m) const {
    put(out, m.ballot);
    put(out, m.view);
  }
  void operator()(const Accepted& m) const {
    put(out, m.next);
    put(out, m.ballot);
  }
  void operator()(const Outbid& m) const {
    put(out, m.next);
    put(out, m.promised);
  }
  void operator()(const Install& m) const { put(out, m.view); }
  void operator()(const Revoke& m) const {
    put(out, m.id);
    out.text(view_of_bytes(m.signed_bytes));
  }
  void operator()(const Refused& m) const { out.text(m.why.substr(0, kMostWhy)); }
  void operator()(const Fork& m) const { out.number(m.lineage); }
  void operator()(const Follow& m) const {
    out.number(m.lineage);
    put(out, m.member);
    put(out, m.status);
  }
  void operator()(const Ended& m) const { out.number(m.step); }
};

void get(Reader& in, Observation& m) {
  m.sequence = in.number<std::uint64_t>();
  m.stopped = in.flag();
  m.leaving = in.flag();
  m.missed.resize(in.count(kMostMembers, sizeof(std::uint32_t)));
  for (std::uint32_t& seat : m.missed) seat = in.number<std::uint32_t>();
  if (std::ranges::adjacent_find(m.missed, std::greater_equal()) != m.missed.end())
    throw MalformedMessage("seats are out of order");
}
void get(Reader& in, Ready& m) {
  m.member = get_member(in);
  m.status = get_status(in);
}
void get(Reader& in, Vouch& m) {
  m.newcomer = get_id(in);
  m.invitation.id = in.text(kMostInvitation);
  m.invitation.uses = in.number<std::uint32_t>();
}
void get(Reader& in, Prepare& m) {
  m.next = get_view_id(in);
  m.ballot = get_ballot(in);
}
void get(Reader& in, Promise& m) {
  m.next = get_view_id(in);
  m.ballot = get_ballot(in);
  m.vote = in.flag();
  m.accepted = get_accepted(in);
  m.member = get_member(in);
  m.status = get_status(in);
}
void get(Reader& in, Accept& m) {
  m.ballot = get_ballot(in);
  m.view = get_view(in);
}
void get(Reader& in, Accepted& m) {
  m.next = get_view_id(in);
  m.ballot = get_ballot(in);
}
void get(Reader& in, Outbid& m) {
  m.next = get_view_id(in);
  m.promised = get_ballot(in);
}
void get(Reader& in, Install& m) { m.view = get_view(in); }
void get(Reader& in, Revoke& m) {
  m.id = get_id(in);
  m.signed_bytes = as_bytes(in.raw(in.count(kMostSigned)));
}
void get(Reader& in, Refused& m) { m.why = in.text(kMostWhy); }
void get(Reader& in, Fork& m) { m.lineage = in.number<std::uint64_t>(); }
void get(Reader& in, Follow& m) {
  m.lineage = in.number<std::uint64_t>();
  m.member = get_member(in);
  m.status = get_status(in);
}

void get(Reader& in, Ended& m) { m.step = in.number<std::uint64_t>(); }

template <std::size_t kind = 0>
void get_body(Reader& in, std::size_t wanted, Body& body) {
  if constexpr (kind < std::variant_size_v<Body>) {
    if (kind != wanted) return get_body<kind + 1>(in, wanted, body);
    get(in, body.emplace<kind>());
    in.end();
  } else {
    throw MalformedMessage("there is no such message");
  }
}

// FNV-1a: detects truncation and damage, not attacks.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<std::uint8_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace

Bytes encode(const MembershipMessage& message) {
  Writer out;
  out.number(kVersion);
  out.number(static_cast<std::uint8_t>(message.body.index()));
  out.number(message.run);
  put(out, message.present);
  out.number(message.incarnation);
  std::visit(PutBody{out}, message.body);
  return as_bytes(out.str());
}

std::optional<MembershipMessage> parse_membership_message(std::span<const std::uint8_t> bytes) try {
  if (bytes.size() > kMostMembershipBytes) return std::nullopt;
  Reader in(view_of_bytes(bytes));
  if (in.number<std::uint8_t>() != kVersion) return std::nullopt;
  const auto kind = in.number<std::uint8_t>();
  MembershipMessage message;
  message.run = in.number<std::uint64_t>();
  message.present = get_view_id(in);
  message.incarnation = in.number<std::uint64_t>();
  get_body(in, kind, message.body);
  return message;
} catch (const MalformedMessage&) {
  return std::nullopt;
}

Bytes encode(const StoredMembership& stored) {
  Writer out;
  out.number(kStoredVersion);
  out.number(stored.run);
  out.number(stored.incarnation);
  out.number(stored.since);
  put(out, stored.present);
  put(out, stored.promised);
  put(out, stored.accepted);
  out.number(checksum(out.str()));
  return as_bytes(out.str());
}

std::optional<StoredMembership> parse_stored_membership(std::span<const std::uint8_t> bytes) try {
  constexpr std::size_t kSum = sizeof(std::uint64_t);
  if (bytes.size() < kSum || bytes.size() > 2 * kMostMembershipBytes) return std::nullopt;
  const std::string_view text = view_of_bytes(bytes.first(bytes.size() - kSum));
  if (Reader(view_of_bytes(bytes.last(kSum))).number<std::uint64_t>() != checksum(text)) return std::nullopt;
  Reader in(text);
  const auto version = in.number<std::uint8_t>();
  if (version != kStoredVersion && version != kStoredWithoutEpochs) return std::nullopt;
  const With with = version == kStoredVersion ? With::epochs : With::no_epochs;
  StoredMembership stored;
  stored.run = in.number<std::uint64_t>();
  stored.incarnation = in.number<std::uint64_t>();
  stored.since = in.number<std::uint64_t>();
  stored.present = get_view(in, with);
  stored.promised = get_ballot(in);
  stored.accepted = get_accepted(in, with);
  in.end();
  return stored;
} catch (const MalformedMessage&) {
  return std::nullopt;
}

}  // namespace veche::grid
