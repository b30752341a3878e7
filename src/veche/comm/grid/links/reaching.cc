// Reaches members that cannot be dialled: they are asked to dial, or both sides dial a relay.
#include "veche/comm/grid/links/link_table.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {
namespace {

constexpr std::size_t kHelpers = 3;           // asked at once
constexpr Time kToBeDialled{1};               // before a relay is asked
constexpr std::size_t kMostIntroduced = 256;  // members not wanted here
constexpr std::size_t kMostRelayedHere = 64;  // connections that have not greeted
constexpr std::string_view kYes = "yes";

}  // namespace

void LinkTable::ask_to_be_dialled(const MemberId& id, Peer& peer, std::vector<MemberId> helpers) {
  if (helpers.size() > kHelpers) helpers.resize(kHelpers);
  dial_again_after(peer, kToBeDialled);
  const auto open = std::make_shared<std::size_t>(helpers.size());
  for (const MemberId& helper : helpers)
    ask(helper, coded_request(Service::introduce, coded(id)),
        [this, id, open](const std::optional<Message>& answer) {
          if (answer || --*open > 0) return;
          dial_again_after(peers_[id], Time(0));  // no member is linked to it
        });
}

void LinkTable::ask_to_be_relayed(const MemberId& id, Peer& peer, const MemberId& relay) {
  dial_again_after(peer, options_.greeting);
  ask(relay, coded_request(Service::relay, coded(id)),
      [this, id, relay](const std::optional<Message>& answer) {
        Peer& wanted = peers_[id];
        if (wanted.link || wanted.dialling || stopping_) return;
        if (!answer) return retry_later(wanted);
        const auto letters = answer->as<char>();
        connect(id, wanted,
                {addresses_of(peers_[relay]), relay, read_token({letters.data(), letters.size()}), false});
      });
}

void LinkTable::dial_again_after(Peer& peer, Time delay) {
  peer.next_dial = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
}

bool LinkTable::reaches(const MemberId& from, Service service, const std::string& text,
                        const Answer& answer) {
  const auto reply = [&](std::string_view said) { answer(pool_.copy_of(std::span<const char>(said))); };
  switch (service) {
    case Service::introduce: {
      const MemberId to = read_id(text);
      if (!is_linked(to)) {
        answer({});
        return true;
      }
      const Introduction introduction{from, peers_[from].hello.addresses};
      ask(to, coded_request(Service::introduced, coded(introduction)), [](const auto&) {});
      reply(kYes);
      return true;
    }
    case Service::introduced: {
      const Introduction introduction = read_introduction(text);
      if (introduction.who == from) {
        Peer& peer = peers_[from];
        peer.hello.addresses = introduction.addresses;  // they have changed
        if (peer.link) publish(*peer.link);
      } else if (may_be_introduced(introduction.who) && !introduction.addresses.empty()) {
        Peer& peer = peers_[introduction.who];
        if (!peer.link && !peer.dialling)
          connect(introduction.who, peer, {introduction.addresses, {}, {}, false});
      }
      reply(kYes);
      return true;
    }
    case Service::relay: {
      const MemberId to = read_id(text);
      const auto tokens =
          options_.relay && is_linked(to) && to != from ? relay_.expect(from, to) : std::nullopt;
      if (!tokens) {
        answer({});
        return true;
      }
      ask(to, coded_request(Service::relayed, coded(Relayed{from, tokens->second})), [](const auto&) {});
      reply(coded(tokens->first));
      return true;
    }
    case Service::relayed: {
      const Relayed relayed = read_relayed(text);
      const auto waiting = std::ranges::count_if(
          connections_, [](const auto& each) { return each->route().relay && !each->is_link(); });
      if (may_be_introduced(relayed.who) && static_cast<std::size_t>(waiting) < kMostRelayedHere)
        connect(relayed.who, peers_[relayed.who], {addresses_of(peers_[from]), from, relayed.token, true});
      reply(kYes);
      return true;
    }
    default:
      return false;
  }
}

bool LinkTable::is_linked(const MemberId& id) const {
  const auto found = peers_.find(id);
  return found != peers_.end() && found->second.link;
}

// Limits introductions: a malicious member could name any number of others.
bool LinkTable::may_be_introduced(const MemberId& id) const {
  if (id == me_ || stopping_ || trust_->is_revoked(id)) return false;
  if (peers_.contains(id)) return true;
  const auto strangers = std::ranges::count_if(
      peers_, [](const auto& each) { return !each.second.wanted && !each.second.link; });
  return static_cast<std::size_t>(strangers) < kMostIntroduced;
}

void LinkTable::relay(const Token& token, asio::ip::tcp::socket socket) {
  prepare(socket);
  relay_.arrived(token, std::move(socket));
}

}  // namespace veche::grid
