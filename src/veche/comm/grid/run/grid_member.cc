#include "veche/comm/grid/run/grid_member.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "veche/comm/grid/coding.h"
#include "veche/comm/grid/engine/grid_cluster.h"
#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/membership/membership.h"
#include "veche/comm/grid/run/console.h"
#include "veche/comm/grid/run/joining.h"
#include "veche/comm/grid/run/run_folder.h"
#include "veche/comm/grid/run/worker.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Time kMadeAgain{0.25};  // a closed link that is there again by then was not down
constexpr Time kToLeave{10};      // for the others to agree
constexpr Time kToHearIt{0.3};
constexpr Time kSayWhy{10};  // nothing moves: a sentence
constexpr Time kLookAtCertificate{600};
constexpr int kJoinsAMinute = 120;
constexpr Time kForkAfter{15};

enum class WayIn { found, join, resume };

std::uint64_t number_of(const MemberId& run) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | run.bytes[static_cast<std::size_t>(i)];
  return number;
}

std::string default_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Message as_message(const std::string& text) {
  MessagePool pool;
  return pool.copy_of(std::span<const char>(text));
}

std::string_view letters_of(const Message& message) {
  const auto letters = message.as<char>();
  return {letters.data(), letters.size()};
}

Bytes as_bytes(std::string_view text) { return {text.begin(), text.end()}; }

// Of heartbeats.
struct Report {
  std::uint64_t step = 0;
  double speed = 0;
};

class GridMember : public Grid, public Views, private LinkEvents {
 public:
  GridMember(const Options& options, WayIn way)
      : options_(options),
        way_(way),
        files_(options.folder),
        key_(files_.key()),
        authority_(files_.authority()),
        trust_(files_.trust()),
        certificate_(files_.certificate()),
        configuration_(files_.configuration()) {
    LinkOptions links;
    links.listen = options.listen;
    links.addresses = options.addresses;
    links.name = name();
    links.nodes = options.nodes;
    links_ = std::make_shared<Links>(key_, trust_, certificate_, links, static_cast<LinkEvents&>(*this));
    membership_.emplace(make_membership());
    links_->set_incarnation(membership_->self().incarnation);
    roll_ = membership_->present();
    files_.write_address(links_->local_address());
    links_->start();
    for (const Known& known : files_.members()) {
      welcomed_by_.insert(known.id);
      links_->want(known.id, known.addresses);
    }
    links_->post([this] {
      for (const Member& member : membership_->present().members) links_->want(member.id, member.addresses);
      act();
    });
    watch_certificate();
  }

  ~GridMember() override {
    worker_.stop();
    links_->stop();
    files_.remove_address();
  }

  // Grid.
  MemberId me() const override { return key_.id(); }
  const std::string& configuration() const override { return configuration_; }
  Views& views() override { return *this; }

  Status status() const override {
    const std::lock_guard lock(mutex_);
    Status status{roll_.run, roll_.number, roll_.first_step, {}};
    const auto states = links_->states();
    const auto describe = [&](const Member& member, int seat) {
      MemberStatus it;
      it.member = member;
      it.seat = seat;
      it.state = member.id == me() ? "here" : "silent";
      if (const auto since = since_.find(member.id); since != since_.end()) it.since = since->second;
      if (const auto report = reports_.find(member.id); report != reports_.end()) {
        it.step = report->second.step;
        it.member.speed = report->second.speed;
      }
      for (const LinkState& link : states) {
        if (link.peer != member.id) continue;
        if (link.up) it.state = seat >= 0 ? "linked" : "coming";
        it.address = link.address;
        it.round_trip = link.round_trip.count();
        it.sent = link.sent;
        it.received = link.received;
      }
      status.members.push_back(std::move(it));
    };
    for (std::size_t seat = 0; seat < roll_.members.size(); ++seat)
      describe(roll_.members[seat], static_cast<int>(seat));
    for (const LinkState& link : states)
      if (link.up && !is_seated(link.peer))
        describe({link.peer,
                  link.hello.incarnation,
                  link.hello.name,
                  link.hello.addresses,
                  link.hello.nodes,
                  0,
                  {}},
                 -1);
    for (const auto& [id, request] : waiting_) {
      describe({id, request.incarnation, request.name, request.addresses, request.nodes, 0,
                request.ticket.inviter},
               -1);
      status.members.back().state = "waits for approval";
    }
    return status;
  }

  void report(std::uint64_t step, double speed) override {
    links_->post([this, speed] { membership_->describe(links_->addresses(), speed); });
    links_->set_heartbeat(Writer().number(step).number(std::bit_cast<std::uint64_t>(speed)).take());
    const std::lock_guard lock(mutex_);
    reports_[me()] = {step, speed};
  }

  std::string invite(const Terms& terms) override {
    if (!trust_->inviter(me()))
      throw RequestError("this member may not invite: ask one that may, or the founder of the run");
    if (terms.uses == 0 || terms.valid <= std::chrono::seconds(0))
      throw RequestError("an invitation must be good for at least one member and one second");
    return make_invitation(trust_->run(), key_, links_->addresses(), terms.uses,
                           std::chrono::system_clock::now() + terms.valid, terms.may_invite)
        .text();
  }

  void revoke(const std::string& id) override {
    if (!trust_->inviter(me())) throw RequestError("this member may not revoke: it may not invite either");
    const MemberId member = find(id);
    if (member == me()) throw RequestError("this member cannot revoke itself: let it leave");
    const Revocation made = grid::revoke(trust_->run(), member, key_, std::chrono::system_clock::now());
    trust_->learn(made);
    files_.write_trust(*trust_);
    on_links([&] {
      membership_->revoke(member, as_bytes(made.coded()), now());
      act();
    });
  }

  void admit(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    for (auto at = waiting_.begin(); !id.empty() && at != waiting_.end(); ++at)
      if (hex(at->first).starts_with(id)) {
        admitted_.insert(at->first);
        waiting_.erase(at);
        return;
      }
    throw RequestError("nobody with the id " + id + " waits to be let in");
  }

  void serve(Serve serve) override {
    const std::lock_guard lock(mutex_);
    serve_ = std::move(serve);
  }

  std::vector<MemberId> donors() const override {
    const std::lock_guard lock(mutex_);
    std::vector<MemberId> linked;
    for (const LinkState& link : links_->states())
      if (link.up && (roll_.number > 0 ? is_seated(link.peer) : welcomed_by_.contains(link.peer)))
        linked.push_back(link.peer);
    return linked;
  }

  std::optional<Message> fetch(const MemberId& from, const std::string& piece, std::uint64_t offset,
                               std::uint32_t length, Time limit) override {
    const std::string text = Writer().number(offset).number(length).text(piece).take();
    return links_->ask(from, Service::piece, text, limit);
  }

  // Views. One thread.
  View next(const std::vector<Standing>& here) override {
    links_->post([this, here] {
      const bool first = !asked_;
      asked_ = waits_ = true;
      last_standing_ = here;
      if (first && way_ == WayIn::found)
        membership_->found(here, now());
      else if (first || !membership_->in())
        membership_->ready(here, now());
      else
        membership_->frozen(here, now());
      if (first && options_.force) membership_->force(now());
      act();
    });
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool changed = changed_.wait_for(lock, kSayWhy, [this] { return pending_ || !end_.empty(); });
      if (!end_.empty()) throw RunError(end_);
      if (changed) break;
      say(why_waits_.empty() ? "waits for the members to agree on the next view" : why_waits_);
    }
    View view = std::move(*pending_);
    pending_.reset();
    return view;
  }

  void leave() override {
    on_links([&] {
      leaving_ = true;
      if (const auto present = router_.present()) present->end_view();
      membership_->frozen(last_standing_, now());  // its vote may be needed
      membership_->leave(now());
      act();
    });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kToLeave, [this] { return removed_ || !failed_.empty(); });
    lock.unlock();
    links_->flush(Time(1));
  }

 private:
  std::string name() const { return options_.name.empty() ? default_name() : options_.name; }
  Time now() const { return Clock::now() - start_; }
  void say(const std::string& sentence) const {
    if (options_.say) options_.say(sentence);
  }

  Membership make_membership() {
    Member self;
    self.id = key_.id();
    // Larger than in any life before, also where what was promised is lost but the key is not.
    self.incarnation = static_cast<std::uint64_t>(1e6 * seconds_since_1970());
    self.name = name();
    self.nodes = options_.nodes;
    self.addresses = links_->addresses();
    MembershipOptions how;
    if (options_.fork) how.fork_after = kForkAfter;
    how.genuine = [this](const MemberId& id, std::span<const std::uint8_t> bytes) {
      try {
        const Revocation told =
            Revocation::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        return told.member == id && (trust_->learn(told) || trust_->is_revoked(id));
      } catch (const Damaged&) {
        return false;
      }
    };
    return {number_of(trust_->run()), std::move(self), as_bytes(files_.promised()), std::move(how),
            std::random_device{}()};
  }

  // Done by the links' thread, and waited for. Throws what it throws.
  template <class What>
  void on_links(What what) {
    std::promise<void> done;
    links_->post([&] {
      try {
        what();
        done.set_value();
      } catch (...) {
        done.set_exception(std::current_exception());
      }
    });
    done.get_future().get();
  }

  bool is_seated(const MemberId& id) const {
    return std::ranges::any_of(roll_.members, [&](const Member& member) { return member.id == id; });
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

  // The links' thread, as all that follows.

  // Acts on what the membership says, until it says nothing more.
  void act() {
    for (bool more = true; more;) {
      Membership::Output output = membership_->take();
      more = output.freeze || output.installed || output.removed || !output.revoked.empty();
      if (!output.persist.empty()) {
        try {
          files_.write_promised({output.persist.begin(), output.persist.end()});
        } catch (const RunError& error) {  // what cannot be kept is not promised
          return fail(error.what());
        }
      }
      for (const Membership::Letter& letter : output.messages)
        links_->tell(letter.to, {letter.bytes.begin(), letter.bytes.end()});
      for (const Membership::Revocation& revoked : output.revoked) {
        files_.write_trust(*trust_);
        shut_out(revoked.id);
        renew_certificate();  // if it was signed by that one
      }
      if (output.freeze) {
        if (const auto present = router_.present()) present->end_view();
        // Nobody trains here any more who would say so: the others need its vote to go on without it.
        if (leaving_) membership_->frozen(last_standing_, now());
      }
      if (output.installed) install(*output.installed);
      if (output.refused) {
        const std::lock_guard lock(mutex_);
        end_ = "not let in: " + *output.refused;
        changed_.notify_all();
      }
      if (output.removed) removed();
    }
    {
      const std::lock_guard lock(mutex_);
      roll_ = membership_->present();
      why_waits_ = membership_->cut_off() ? "cut off from the majority of the members: waits for them" : "";
    }
    set_timer();
  }

  // It is told why, and not waited for.
  void shut_out(const MemberId& id) {
    if (id == me()) return fail("this member was revoked: the others go on without it");
    links_->forget(id, "it was revoked");
    links_->after(kToHearIt, [this, id] { links_->close(id, "it was revoked"); });
  }

  void install(const AgreedView& agreed) {
    const Roll& roll = agreed.roll;
    Seating seating{roll.number, {}, 0};
    View view{roll.number, roll.first_step, {}, nullptr};
    for (std::size_t seat = 0; seat < roll.members.size(); ++seat) {
      const Member& member = roll.members[seat];
      if (member.id == me()) seating.mine = seat;
      seating.seats.push_back({member.id, static_cast<int>(member.nodes)});
      view.standing.insert(view.standing.end(), agreed.standings[seat].begin(), agreed.standings[seat].end());
      links_->want(member.id, member.addresses);
    }
    std::vector<Known> known;
    for (const Member& member : roll.members) known.push_back({member.id, member.addresses});
    try {
      files_.write_members(known);
    } catch (const RunError&) {
      // Hints are worth no run.
    }
    if (const auto before = router_.present()) {
      before->end_view();
      for (const Seating::Seat& seat : before->seating().seats)
        if (std::ranges::none_of(roll.members,
                                 [&](const Member& member) { return member.id == seat.member; }))
          links_->forget(seat.member, "the members went on without it");
    }
    waits_ = false;
    links_->forget_views_before(roll.number);
    const auto cluster = std::make_shared<GridCluster>(links_, seating, options_.slots);
    router_.present(cluster);
    view.cluster = cluster;
    const std::lock_guard lock(mutex_);
    for (const Member& member : roll.members) since_.try_emplace(member.id, seconds_since_1970());
    pending_ = std::move(view);
    removed_ = false;
    changed_.notify_all();
  }

  void removed() {
    if (const auto present = router_.present()) present->end_view();
    // Left behind while it waited, by those who did not hear of it: it asks to be let in again.
    if (waits_ && !leaving_ && !trust_->is_revoked(me())) membership_->ready(last_standing_, now());
    const std::lock_guard lock(mutex_);
    removed_ = true;
    changed_.notify_all();
  }

  void fail(const std::string& why) {
    if (const auto present = router_.present()) present->end_view();
    const std::lock_guard lock(mutex_);
    failed_ = end_ = why;
    changed_.notify_all();
  }

  void set_timer() {
    const Time at = membership_->next_tick();
    if (at >= kForever || (timer_at_ > now() && timer_at_ <= at)) return;
    timer_at_ = at;
    links_->after(std::max(Time(0.001), at - now()), [this, at] {
      if (timer_at_ != at) return;  // an earlier one was set since
      timer_at_ = Time(-1);
      membership_->tick(now());
      act();
    });
  }

  // Of links.
  void up(const MemberId& peer, const Hello&) override {
    closed_.erase(peer);
    membership_->link_up(peer, now());
    act();
  }
  void down(const MemberId& peer, const std::string& why) override {
    closed_[peer] = now();
    links_->after(kMadeAgain, [this, peer] { believe_down(peer, kMadeAgain); });
    if (is_seated_now(peer)) say("the link to " + short_name(peer) + " is gone: " + why);
  }
  // Its host says that nobody listens any more.
  void refused(const MemberId& peer) override { believe_down(peer, Time(0)); }
  void failed(const std::string& why) override { fail(why); }
  void believe_down(const MemberId& peer, Time after) {
    const auto found = closed_.find(peer);
    if (found == closed_.end() || now() < found->second + after) return;
    closed_.erase(found);
    membership_->link_down(peer, now());
    act();
  }
  void word(const MemberId& from, std::string text) override {
    membership_->received(from, as_bytes(text), now());
    act();
  }
  void data(const MemberId& from, const DataHead& head, bool ended, Message message) override {
    if (!router_.deliver(from, head, ended, std::move(message))) links_->close(from, "it is too far ahead");
  }
  void heartbeat(const MemberId& from, const std::string& text) override {
    if (text.empty()) return;
    Reader reader(text);
    const auto step = reader.number<std::uint64_t>();
    const auto speed = std::bit_cast<double>(reader.number<std::uint64_t>());
    const std::lock_guard lock(mutex_);
    reports_[from] = {step, speed};
  }

  void request(const Asker& asker, Service service, std::string text, Answer answer) override {
    switch (service) {
      case Service::join:
        return let_in(asker, read_join_request(text), std::move(answer));
      case Service::piece:
        return give_piece(text, std::move(answer));
      case Service::renew:
        if (!trust_->inviter(me())) return answer({});
        return answer(
            as_message(coded(sign_for(key_, {}, asker.key, false, std::chrono::system_clock::now()))));
      case Service::own:
        return sign(read_sign_request(text), std::move(answer));
      case Service::console:
        // By another thread: it may wait for this one.
        if (!worker_.add(
                [this, request = read_request(text), answer] { answer(as_message(at_console(request))); }))
          answer({});
        return;
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
        const std::lock_guard lock(mutex_);
        serve = serve_;
      }
      answer(serve ? serve(piece, offset, length) : std::nullopt);
    });
    if (!taken) answer({});
  }

  std::uint32_t uses_of(const Ticket& ticket) const {
    const auto& used = membership_->present().invitations_used;
    const auto found = used.find(ticket.name());
    return found == used.end() ? 0 : found->second;
  }

  void let_in(const Asker& asker, const JoinRequest& request, Answer answer) {
    const auto reply = [answer](JoinAnswer::Verdict verdict, const std::string& sentence) {
      JoinAnswer said;
      said.verdict = verdict;
      said.sentence = sentence;
      answer(as_message(coded(said)));
    };
    using enum JoinAnswer::Verdict;
    if (now() - joins_since_ > Time(60)) {
      joins_since_ = now();
      joins_ = 0;
    }
    if (++joins_ > kJoinsAMinute) return reply(wait, "too many want to join at once");
    // A member that was let in before may ask again: what it got was lost on the way.
    const std::uint32_t used = is_seated_now(asker.id) ? 0 : uses_of(request.ticket);
    if (const auto why = refusal(*trust_, request.ticket, used, std::chrono::system_clock::now()))
      return reply(refused, *why);
    if (!is_proven(trust_->run(), request.ticket, asker.session, asker.id, me(), request.proof))
      return reply(refused, "whoever asks does not know the invitation's secret");
    {
      const std::lock_guard lock(mutex_);
      if (options_.approve && !admitted_.contains(asker.id)) {
        if (waiting_.size() < 1000 && waiting_.emplace(asker.id, request).second)
          say(short_name(asker.id) + " (" + request.name +
              ") waits to be let in: veche grid members --admit " + short_name(asker.id));
        return reply(wait, "somebody there must say yes: veche grid members --admit " + short_name(asker.id));
      }
    }
    const SignRequest wanted{asker.key, request.ticket};
    const auto finish = [this, asker, request, answer, reply](const std::optional<Message>& given) {
      if (!given) return reply(refused, "nobody who may sign is linked now: try again");
      const Signed certificates = read_signed(letters_of(*given));
      if (!certificates.warrant.empty()) {
        trust_->learn(certificates.warrant);
        files_.write_trust(*trust_);
      }
      membership_->vouch(asker.id, {request.ticket.name(), request.ticket.uses}, now());
      JoinAnswer said{welcome,
                      "",
                      trust_->root(),
                      certificates.certificate,
                      certificates.warrant,
                      coded_trust(*trust_),
                      configuration_,
                      {}};
      said.members.push_back({me(), links_->addresses()});
      for (const Member& member : membership_->present().members)
        if (member.id != me()) said.members.push_back({member.id, member.addresses});
      answer(as_message(coded(said)));
      act();
    };
    if (trust_->inviter(me())) return finish(signed_here(wanted));
    for (const Member& member : membership_->present().members)
      if (trust_->inviter(member.id) && links_->is_up(member.id))
        return links_->ask(member.id, Service::own, coded(wanted), finish);
    finish({});
  }

  bool is_seated_now(const MemberId& id) const {
    const auto& members = membership_->present().members;
    return std::ranges::any_of(members, [&](const Member& member) { return member.id == id; });
  }

  std::optional<Message> signed_here(const SignRequest& wanted) {
    return as_message(coded(
        sign_for(key_, authority_, wanted.key, wanted.ticket.may_invite, std::chrono::system_clock::now())));
  }

  // For another member, which has seen the proof; it cannot have it signed without a ticket that is good.
  void sign(const SignRequest& wanted, Answer answer) {
    if (!trust_->inviter(me()) ||
        refusal(*trust_, wanted.ticket, uses_of(wanted.ticket), std::chrono::system_clock::now()))
      return answer({});
    answer(signed_here(wanted));
  }

  // Renewed at half of its life, and when who signed it was revoked.
  void watch_certificate() {
    links_->after(kLookAtCertificate, [this] {
      renew_certificate();
      watch_certificate();
    });
  }
  void renew_certificate() {
    const auto read = read_certificate(certificate_);
    const Instant wall = std::chrono::system_clock::now();
    if (read && expiry_of(read.get()) > wall + kMemberLife / 2 && !trust_->refusal(read.get(), nullptr, wall))
      return;
    if (trust_->inviter(me())) return take_certificate(make_member(key_, key_.get(), wall));
    for (const Member& member : membership_->present().members)
      if (trust_->inviter(member.id) && links_->is_up(member.id))
        return links_->ask(member.id, Service::renew, "", [this](const std::optional<Message>& given) {
          if (!given) return;
          try {
            take_certificate(read_signed(letters_of(*given)).certificate);
          } catch (const Damaged&) {
            // Asked again later.
          }
        });
  }
  void take_certificate(const std::string& der) {
    const auto read = read_certificate(der);
    if (!read || id_of(read.get()) != me() ||
        trust_->refusal(read.get(), nullptr, std::chrono::system_clock::now()))
      return;
    certificate_ = der;
    files_.write_certificate(der);
    links_->set_certificate(der);
  }

  const Options options_;
  const WayIn way_;
  const RunFolder files_;
  const KeyPair key_;
  const std::optional<KeyPair> authority_;
  const std::shared_ptr<Trust> trust_;
  std::string certificate_;  // the links' thread's
  const std::string configuration_;
  std::set<MemberId> welcomed_by_;  // whom it knew when it started
  const Clock::time_point start_ = Clock::now();
  ViewRouter router_;

  // The links' thread's.
  std::optional<Membership> membership_;  // always, once made
  Time timer_at_{-1};
  bool asked_ = false;  // for a view, once
  bool waits_ = false;  // in `next`
  bool leaving_ = false;
  std::vector<Standing> last_standing_;
  std::map<MemberId, Time> closed_;  // links that may be made again at once
  int joins_ = 0;
  Time joins_since_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Roll roll_;
  std::optional<View> pending_;
  std::string end_, failed_, why_waits_;
  bool removed_ = false;
  std::map<MemberId, Report> reports_;
  std::map<MemberId, double> since_;
  std::map<MemberId, JoinRequest> waiting_;
  std::set<MemberId> admitted_;
  Serve serve_;

  std::shared_ptr<Links> links_;
  Worker worker_;  // last: its work uses all of the above
};

void refuse_a_used_folder(const RunFolder& files, const Options& options) {
  if (files.holds_a_member())
    throw RequestError(options.folder.string() +
                       " holds a member of a grid already: veche grid join --resume " +
                       options.folder.string() + " goes on with it");
}

}  // namespace

std::unique_ptr<Grid> found_here(const Options& options, const std::string& configuration) {
  const RunFolder files(options.folder);
  refuse_a_used_folder(files, options);
  const Instant now = std::chrono::system_clock::now();
  const KeyPair root = KeyPair::make(), key = KeyPair::make();
  Trust trust(make_root(root, now));
  trust.learn(make_warrant(root, key.get(), now));
  files.write_key(key);
  files.write_authority(root);
  files.write_configuration(configuration);
  files.write_trust(trust);
  files.write_certificate(make_member(key, key.get(), now));
  return std::make_unique<GridMember>(options, WayIn::found);
}

std::unique_ptr<Grid> join_here(const Options& options, const std::string& text) {
  const InvitationLine invitation = InvitationLine::parse(text);
  const RunFolder files(options.folder);
  refuse_a_used_folder(files, options);
  const KeyPair key = KeyPair::make();
  JoinRequest request;
  request.nodes = options.nodes;
  request.name = options.name.empty() ? default_name() : options.name;
  request.addresses = options.addresses;
  std::string said;
  const JoinAnswer answer = ask_to_join(invitation, key, request, [&](const std::string& sentence) {
    if (options.say && sentence != said) options.say(said = sentence);
    return true;
  });
  Trust trust(answer.root);
  try {
    learn_trust(trust, answer.trust);
  } catch (const Damaged& error) {
    throw RequestError(std::string("the answer to the invitation is damaged: ") + error.what());
  }
  if (!answer.warrant.empty()) trust.learn(answer.warrant);
  files.write_key(key);
  files.write_configuration(answer.configuration);
  files.write_members(answer.members);
  files.write_trust(trust);
  files.write_certificate(answer.certificate);
  return std::make_unique<GridMember>(options, WayIn::join);
}

std::unique_ptr<Grid> resume_here(const Options& options) {
  const RunFolder files(options.folder);
  if (!files.holds_a_member())
    throw RequestError(options.folder.string() + " holds no member of a grid that could go on");
  if (files.trust()->is_revoked(files.key().id()))
    throw RequestError("the member of " + options.folder.string() + " was revoked: ask for a new invitation");
  return std::make_unique<GridMember>(options, WayIn::resume);
}

}  // namespace veche::grid
