#include "veche/comm/grid/run/grid_member.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/run/admissions.h"
#include "veche/comm/grid/run/agreement.h"
#include "veche/comm/grid/run/certificate_renewal.h"
#include "veche/comm/grid/run/console.h"
#include "veche/comm/grid/run/link_fetches.h"
#include "veche/comm/grid/run/searching.h"
#include "veche/comm/grid/run/worker.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

// From heartbeats.
struct Report {
  std::uint64_t step = 0;
  double speed = 0;
};

// The member that runs in this process.
class GridMember : public Grid, private LinkEvents {
 public:
  GridMember(const GridOptions& options, Entry entry) : own_(options) {
    LinkOptions links;
    links.listen = options.listen;
    links.addresses = options.addresses;
    links.name = name_of(options);
    links.nodes = options.nodes;
    links.relay = options.relay;
    own_.links = std::make_shared<Links>(own_.key, own_.trust, own_.files.certificate(), links,
                                         static_cast<LinkEvents&>(*this));
    agreement_.emplace(own_, entry);
    certificate_.emplace(own_, *agreement_);
    admissions_.emplace(own_, *agreement_);
    agreement_->on_revoked = [this] { certificate_->renew(); };  // if that member signed it
    agreement_->somebody_answers = [this] { return !donors().empty(); };
    own_.links->set_incarnation(agreement_->membership().self().incarnation);
    own_.files.write_address(own_.links->local_address());
    own_.links->start();
    for (const Known& known : own_.files.members()) {
      welcomed_by_.insert(known.id);
      own_.links->want(known.id, known.addresses);
    }
    own_.links->post([this] {
      for (const Member& member : agreement_->membership().present().members)
        own_.links->want(member.id, member.addresses);
      agreement_->act();
    });
    certificate_->watch();
    searching_.emplace(own_);
    searching_->watch();
  }

  ~GridMember() override {
    worker_.stop();
    own_.links->stop();
    searching_->stop();
    own_.files.remove_address();
  }

  MemberId me() const override { return own_.id(); }
  const std::string& configuration() const override { return own_.configuration; }
  Views& views() override { return *agreement_; }

  Status status() const override {
    const MembershipView membership = agreement_->membership();
    Status status{membership.run, membership.number, membership.first_step, {}};
    const auto states = own_.links->states();
    for (std::size_t seat = 0; seat < membership.members.size(); ++seat)
      status.members.push_back(described(membership.members[seat], static_cast<int>(seat), states));
    for (const LinkState& link : states)
      if (link.up && !has(membership, link.peer)) {
        const Hello& hello = link.hello;
        status.members.push_back(described(
            {link.peer, hello.incarnation, hello.name, hello.addresses, hello.nodes, 0, {}}, -1, states));
      }
    for (const auto& [id, request] : admissions_->waiting()) {
      status.members.push_back(described({id, request.incarnation, request.name, request.addresses,
                                          request.nodes, 0, request.ticket.inviter},
                                         -1, states));
      status.members.back().state = "waits for approval";
    }
    name_apart(status);
    return status;
  }

  void report(std::uint64_t step, double speed, double epochs) override {
    own_.links->post([this, step, speed, epochs] {
      agreement_->membership().describe(own_.links->addresses(), speed);
      agreement_->at_step(step, epochs);
    });
    own_.links->set_heartbeat(Writer().number(step).real(speed).real(agreement_->to_stop().count()).take());
    const MutexLock lock(mutex_);
    reports_[me()] = {step, speed};
  }

  std::string invite(const Terms& terms) override {
    if (!own_.trust->inviter(me()))
      throw RequestError("this member has no warrant now: let another one invite");
    if (terms.uses == 0 || terms.valid <= std::chrono::seconds(0))
      throw RequestError("an invitation must be good for at least one member and one second");
    return make_invitation(own_.trust->run(), own_.key, meeting_points(), terms.uses,
                           std::chrono::system_clock::now() + terms.valid)
        .text();
  }

  void revoke(const std::string& id) override {
    if (!own_.trust->inviter(me()))
      throw RequestError("this member has no warrant now: let another one revoke");
    const MemberId member = find(id);
    if (member == me()) throw RequestError("this member cannot revoke itself: let it leave");
    const Revocation made = grid::revoke(own_.trust->run(), member, own_.key,
                                         std::chrono::system_clock::now(), own_.trust->invited_by(member));
    own_.trust->learn(made);
    own_.files.write_trust(*own_.trust);
    on_links(*own_.links, [&] {
      agreement_->membership().revoke(member, as_bytes(made.coded()), own_.now());
      agreement_->act();
    });
  }

  void admit(const std::string& id) override { admissions_->admit(id); }

  void serve(Serve serve) override {
    const MutexLock lock(mutex_);
    serve_ = std::move(serve);
  }

  std::vector<MemberId> donors() const override {
    const MembershipView membership = agreement_->membership();
    std::vector<MemberId> linked;
    for (const LinkState& link : own_.links->states())
      if (link.up && (has(membership, link.peer) || welcomed_by_.contains(link.peer)))
        linked.push_back(link.peer);
    return linked;
  }

  std::optional<Message> fetch(const MemberId& from, const std::string& piece, std::uint64_t offset,
                               std::uint32_t length, Time limit) override {
    return own_.links->ask(from, Service::piece, coded_piece_request(piece, offset, length), limit);
  }

  std::unique_ptr<Fetches> fetches() override { return std::make_unique<LinkFetches>(own_.links); }

  void wait_for_newcomers(Time most) override {
    const Time until = own_.now() + most;
    for (bool said = false; own_.now() < until && !own_.interrupted() && somebody_comes(); said = true) {
      if (!said) own_.say("the run has ended; a newcomer is on its way and fetches the model from here");
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

 private:
  // Makes names unique: equal names get the first digits of the id.
  static void name_apart(Status& status) {
    std::map<std::string, int> counts;
    for (const MemberStatus& one : status.members) ++counts[one.member.name];
    for (MemberStatus& one : status.members)
      if (counts[one.member.name] > 1) one.member.name += "-" + short_name(one.member.id).substr(0, 4);
  }

  // Members of the last view end by themselves and are not waited for.
  bool somebody_comes() {
    if (admissions_->awaits_link()) return true;
    const MembershipView membership = agreement_->last_trained_in();
    return std::ranges::any_of(own_.links->states(), [&](const LinkState& link) {
      const auto seat = std::ranges::find(membership.members, link.peer, &Member::id);
      return link.up && (seat == membership.members.end() || seat->incarnation < link.hello.incarnation);
    });
  }

  static bool has(const MembershipView& membership, const MemberId& id) {
    return std::ranges::any_of(membership.members, [&](const Member& member) { return member.id == id; });
  }

  // Addresses where a newcomer may ask: any member admits it. Includes peers that were dialled from
  // here, since others can reach them too.
  std::vector<std::string> meeting_points() const {
    constexpr std::size_t kOthers = 3;
    std::vector<std::string> addresses = own_.links->addresses();
    auto states = own_.links->states();
    std::ranges::stable_partition(states, [](const LinkState& link) { return link.hello.relays; });
    std::size_t others = 0;
    for (const LinkState& link : states)
      if (link.up && link.dialled && others++ < kOthers) addresses.push_back(link.address);
    return addresses;
  }

  MemberStatus described(const Member& member, int seat, const std::vector<LinkState>& states) const {
    MemberStatus it;
    it.member = member;
    it.seat = seat;
    it.state = member.id == me() ? "here" : "silent";
    it.since = agreement_->since(member.id);
    {
      const MutexLock lock(mutex_);
      if (const auto report = reports_.find(member.id); report != reports_.end()) {
        it.step = report->second.step;
        it.member.speed = report->second.speed;
      }
    }
    for (const LinkState& link : states) {
      if (link.peer != member.id) continue;
      if (link.up) it.state = seat >= 0 ? "linked" : "coming";
      it.address = link.address;
      it.round_trip = link.round_trip.count();
      it.sent = link.sent;
      it.received = link.received;
    }
    return it;
  }

  MemberId find(const std::string& digits) const {
    std::set<MemberId> found;
    for (const MemberStatus& each : status().members)
      if (hex(each.member.id).starts_with(digits)) found.insert(each.member.id);
    if (digits.empty() || found.empty())
      throw RequestError("there is no member whose id begins with '" + digits + "'");
    if (found.size() > 1)
      throw RequestError("several members' ids begin with " + digits + ": give more digits");
    return *found.begin();
  }

  // Events of links, on their thread.
  void up(const MemberId& peer, const Hello&) override {
    admissions_->linked(peer);
    agreement_->up(peer);
  }
  void down(const MemberId& peer, const std::string& why) override { agreement_->down(peer, why); }
  void refused(const MemberId& peer) override { agreement_->refused(peer); }
  void failed(const std::string& why) override { agreement_->fail(why); }
  void word(const MemberId& from, std::string text) override { agreement_->word(from, text); }
  void data(const MemberId& from, const DataHead& head, bool ended, Message message) override {
    agreement_->data(from, head, ended, std::move(message));
  }
  void heartbeat(const MemberId& from, const std::string& text) override {
    if (text.empty()) return;
    Reader reader(text);
    const auto step = reader.number<std::uint64_t>();
    const auto speed = reader.real();
    agreement_->needs(from, Time(reader.real()));
    const MutexLock lock(mutex_);
    reports_[from] = {step, speed};
  }

  void request(const Requester& requester, Service service, std::string text, Answer answer) override {
    switch (service) {
      case Service::join:
        return admissions_->let_in(requester, read_join_request(text), std::move(answer));
      case Service::piece:
        return give_piece(text, std::move(answer));
      case Service::renew:
        // A seated member was admitted by all, whichever key signed for it.
        if (!own_.trust->inviter(me()) || !agreement_->is_seated(requester.id)) return answer({});
        return answer(as_message(coded(sign_for(own_.key, requester.key, std::chrono::system_clock::now()))));
      case Service::own:
        return admissions_->sign(read_sign_request(text), std::move(answer));
      case Service::console:
        // On another thread, since it may wait for this one.
        if (!worker_.add(
                [this, request = read_request(text), answer] { answer(as_message(at_console(request))); }))
          answer({});
        return;
      default:  // handled by the links
        break;
    }
    answer({});
  }

  std::string at_console(const Request& request) {
    try {
      switch (request.what) {
        case Request::What::status:
          return coded_answer(true, coded(status()));
        case Request::What::invite:
          return coded_answer(true, invite(request.terms));
        case Request::What::revoke:
          revoke(request.id);
          return coded_answer(true, "");
        case Request::What::admit:
          admit(request.id);
          return coded_answer(true, "");
      }
    } catch (const Error& error) {
      return coded_answer(false, error.what());
    }
    return coded_answer(false, "there is no such request");
  }

  void give_piece(const std::string& text, Answer answer) {
    Reader reader(text);
    const auto offset = reader.number<std::uint64_t>();
    const auto length = reader.number<std::uint32_t>();
    const std::string piece = reader.text(4096);
    if (length > kMostOfAPiece) return answer({});
    const bool taken = worker_.add([this, offset, length, piece, answer] {
      Serve serve;
      {
        const MutexLock lock(mutex_);
        serve = serve_;
      }
      answer(serve ? serve(piece, offset, length) : std::nullopt);
    });
    if (!taken) answer({});
  }

  MemberContext own_;
  std::set<MemberId> welcomed_by_;  // members known at the start
  // Always set after construction.
  std::optional<Agreement> agreement_;
  std::optional<CertificateRenewal> certificate_;
  std::optional<Admissions> admissions_;
  std::optional<Searching> searching_;

  mutable Mutex mutex_;
  std::map<MemberId, Report> reports_ VECHE_GUARDED_BY(mutex_);
  Serve serve_ VECHE_GUARDED_BY(mutex_);

  Worker worker_;  // declared last: its work uses all of the above
};

}  // namespace

std::unique_ptr<Grid> make_member_of_run(const GridOptions& options, Entry entry) {
  return std::make_unique<GridMember>(options, entry);
}

}  // namespace veche::grid
