#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "veche/comm/grid/membership/membership.h"
#include "veche/random.h"

namespace veche::grid {

// For tests: members of a run in virtual time, each a Membership with a disk, on a faulty network
// controlled by a seed. A link works in each direction separately; a member learns after a moment
// that it stopped or resumed hearing a peer, as from an engine. Training is a step counter that
// takes a moment to stop. Every installed view is checked; violations are in `wrong`.
class VirtualMembers {
 public:
  using Who = std::size_t;

  struct Network {
    double loss = 0, repeat = 0;
    Time delay{0.001}, jitter{0.002};  // of a message: fixed, and random
    Time notice{0.01};                 // upper bound until a link change is noticed
    Time stop{0.02};                   // upper bound until training has stopped
    Time catch_up{0.2};                // upper bound until a removed or returning member is ready
    Time sync{0};                      // of the disk, before dependent messages are sent
    double tear = 0;                   // probability of dying between disk write and send
  };

  struct Node {
    MemberId id;
    std::unique_ptr<Membership> membership;  // null: dead
    Bytes disk;
    std::uint64_t life = 0;  // events of an earlier life are void
    std::uint64_t steps = 0;
    std::uint64_t since = 0;  // the first incarnation that its disk remembers
    Time asleep_until{0};
    std::optional<AgreedView> view;
    bool gone = false;  // has left, was revoked or refused: does not return
    bool comes_back = true;
    std::optional<std::string> refused;
    std::optional<std::uint64_t> ended;
    std::set<MemberId> revoked;
    std::set<Who> heard;  // peers whose links are up, as it was told
    int removals = 0;
    std::optional<Time> trains_since;  // nullopt: stopped
    Time trained{0};
  };

  VirtualMembers(std::uint64_t seed, std::size_t most, MembershipOptions options, Network network)
      : random_(seed, "virtual-members"),
        options_(std::move(options)),
        network_(network),
        nodes_(most),
        ticks_(most, Time(-1)),
        works_(most, std::vector<bool>(most, true)) {
    options_.genuine = [](const MemberId&, std::span<const std::uint8_t> bytes) {
      return bytes.size() == 1 && bytes[0] == 7;
    };
    for (Who who = 0; who < most; ++who) {
      // Random ids, so that the order of joining does not follow from an id.
      nodes_[who].id.bytes[0] = static_cast<std::uint8_t>(random_.below(256));
      nodes_[who].id.bytes[30] = static_cast<std::uint8_t>(who >> 8U);
      nodes_[who].id.bytes[31] = static_cast<std::uint8_t>(who);
    }
  }

  Time now() const { return now_; }
  Node& operator[](Who who) { return nodes_[who]; }
  std::size_t size() const { return nodes_.size(); }
  Network& network() { return network_; }
  RandomStream& random() { return random_; }
  bool alive(Who who) const { return nodes_[who].membership != nullptr; }
  bool in(Who who) const { return alive(who) && nodes_[who].membership->in(); }
  const std::string& wrong() const { return wrong_; }
  std::size_t events() const { return handled_; }
  std::size_t messages() const { return sent_; }
  std::size_t views() const { return views_.size(); }
  const std::map<std::pair<std::uint64_t, std::uint64_t>, AgreedView>& all_views() const { return views_; }

  // The first `count` members in one view, in order of their numbers, all links up.
  void form(std::size_t count) {
    start(0, false);
    nodes_[0].membership->found({{0, 0}}, now_);
    collect(0);
    for (Who who = 1; who < count; ++who) join(who, 0, {});
    run_until([&] { return settled(count); }, Time(60));
    if (!settled(count)) complain("the members never formed a view");
  }

  // A newcomer that has shown an invitation to `at` and has caught up.
  void join(Who who, Who at, const Invitation& invitation) {
    if (!alive(who)) start(who, false);
    if (alive(at)) {
      nodes_[at].membership->vouch(nodes_[who].id, invitation, now_);
      collect(at);
    }
    ready_later(who);
  }

  void start(Who who, bool remembers) {
    Node& node = nodes_[who];
    if (node.gone || alive(who)) return;
    if (!remembers) node.disk.clear();
    ++node.life;
    ticks_[who] = Time(-1);
    node.asleep_until = now_;
    node.view.reset();
    node.heard.clear();
    node.comes_back = true;  // overrides its earlier wish
    Member member;
    member.id = node.id;
    member.incarnation = incarnation_ += 1000;  // like a clock: above any incarnation of an earlier life
    node.membership = std::make_unique<Membership>(kRun, member, node.disk, options_, random_.next());
    if (!remembers || node.since == 0) node.since = node.membership->self().incarnation;
    collect(who);
    for (Who other = 0; other < size(); ++other)
      if (other != who) watch(who, other), watch(other, who);
  }

  // Returns from a crash and asks to be admitted.
  void restart(Who who, bool remembers) {
    start(who, remembers);
    if (alive(who)) ready_later(who);
  }

  void kill(Who who) {
    Node& node = nodes_[who];
    node.membership.reset();
    stop_counting(node);
    ++node.life;
    for (Who other = 0; other < size(); ++other)
      if (other != who) watch(other, who);
  }

  void sleep(Who who, Time how_long) {
    nodes_[who].asleep_until = std::max(nodes_[who].asleep_until, now_ + how_long);
    at(nodes_[who].asleep_until, who, [this, who](Node&) {
      for (Who other = 0; other < size(); ++other)
        if (other != who) watch(other, who), watch(who, other);
    });
    for (Who other = 0; other < size(); ++other)
      if (other != who) watch(other, who);
  }

  void set_link(Who from, Who to, bool works) {
    works_[from][to] = works;
    watch(to, from);
  }
  void set_both(Who a, Who b, bool works) {
    set_link(a, b, works);
    set_link(b, a, works);
  }
  void heal() {
    for (Who a = 0; a < size(); ++a)
      for (Who b = 0; b < size(); ++b)
        if (a != b) set_link(a, b, true);
  }

  void leave(Who who) {
    if (!alive(who)) return;
    nodes_[who].comes_back = false;
    nodes_[who].membership->leave(now_);
    collect(who);
  }
  void end(Who who, std::uint64_t step) {
    nodes_[who].membership->end(step, now_);
    collect(who);
  }
  void revoke(Who by, Who whom) {
    if (!alive(by)) return;
    nodes_[by].membership->revoke(nodes_[whom].id, {7}, now_);
    collect(by);
  }
  void force(Who who) {
    nodes_[who].membership->force(now_);
    collect(who);
  }
  // Training at this member stops by itself.
  void stop(Who who) { freeze_later(who); }

  // Training is in lockstep: while an awaited member is missing, no steps count.
  void hold() {
    for (Node& node : nodes_) stop_counting(node);
  }

  // Runs until `done`, or for `most`; returns the elapsed time.
  Time run_until(const std::function<bool()>& done, Time most) {
    const Time begun = now_, end = now_ + most;
    while (wrong_.empty() && !done()) {
      if (queue_.empty() || queue_.top().at > end) {
        now_ = end;
        break;
      }
      step();
    }
    return now_ - begun;
  }
  void run_for(Time how_long) {
    run_until([] { return false; }, how_long);
  }

  // Exactly `count` members are in one view and train.
  bool settled(std::size_t count) const {
    const AgreedView* one = nullptr;
    std::size_t inside = 0;
    for (const Node& node : nodes_) {
      if (node.membership == nullptr || node.gone) continue;
      if (!node.membership->in() || !node.view) {
        if (node.comes_back) return false;
        continue;
      }
      if (one == nullptr) one = &*node.view;
      if (node.view->membership.number != one->membership.number ||
          node.view->membership.lineage != one->membership.lineage)
        return false;
      ++inside;
    }
    return inside == count && one != nullptr && one->membership.members.size() == count;
  }

  // Every member's state, for a failure message.
  std::string picture() const {
    std::string all;
    for (Who who = 0; who < size(); ++who) {
      const Node& node = nodes_[who];
      all += "\n  " + std::to_string(who) + ":" + (node.gone ? " gone" : "") +
             (node.refused ? " refused" : "") + (node.comes_back ? "" : " leaving");
      if (!alive(who)) continue;
      const Membership& membership = *node.membership;
      all += " incarnation " + std::to_string(membership.self().incarnation) + " since " +
             std::to_string(node.since) + (membership.in() ? ", in" : ", out of") + " view " +
             std::to_string(membership.present().number) + (membership.cut_off() ? ", cut off" : "") + ", of";
      for (const Member& member : membership.present().members)
        all += " " + std::to_string(index_of(member.id)) + "/" + std::to_string(member.incarnation);
    }
    return all;
  }

  // Whether the members that remember could agree on the successor of the newest view known to a
  // live member.
  bool quorum_remembers() const {
    const MembershipView* newest = nullptr;
    for (const Node& node : nodes_)
      if (node.membership != nullptr &&
          (newest == nullptr || node.membership->present().number > newest->number))
        newest = &node.membership->present();
    if (newest == nullptr) return false;
    const auto& members = newest->members;
    std::size_t able = 0;
    bool first = false;
    for (std::size_t seat = 0; seat < members.size(); ++seat)
      for (const Node& node : nodes_)
        if (node.id == members[seat].id && node.membership != nullptr && !node.gone &&
            node.since <= members[seat].incarnation) {
          ++able;
          first = first || seat == 0;
        }
    return 2 * able > members.size() || (2 * able == members.size() && first);
  }

 private:
  static constexpr std::uint64_t kRun = 77;

  struct Event {
    Time at;
    std::uint64_t order;
    Who who;
    std::uint64_t life;  // 0: any
    std::function<void(Node&)> what;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  void stop_counting(Node& node) {
    if (node.trains_since) node.trained += std::max(Time(0), now_ - *node.trains_since);
    node.trains_since.reset();
  }

  Time some(Time most) { return most * random_.uniform(); }
  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = what + " at " + std::to_string(now_.count()) + " s";
  }
  Who index_of(const MemberId& id) const { return static_cast<Who>(id.bytes[30]) << 8U | id.bytes[31]; }

  void at(Time when, Who who, std::function<void(Node&)> what, bool any_life = false) {
    queue_.push({when, order_++, who, any_life ? 0 : nodes_[who].life, std::move(what)});
  }

  void step() {
    Event event = std::move(const_cast<Event&>(queue_.top()));
    queue_.pop();
    now_ = std::max(now_, event.at);
    Node& node = nodes_[event.who];
    if (node.membership == nullptr || (event.life != 0 && event.life != node.life)) return;
    if (now_ < node.asleep_until) {  // waits until it wakes
      event.at = node.asleep_until;
      event.order = order_++;
      queue_.push(std::move(event));
      return;
    }
    ++handled_;
    event.what(node);
    if (node.membership != nullptr) collect(event.who);
  }

  bool hears(Who who, Who other) const {
    return alive(other) && works_[other][who] && nodes_[other].asleep_until <= now_ && !nodes_[other].gone;
  }

  // `who` notices after a moment whether it hears `other`.
  void watch(Who who, Who other) {
    at(now_ + some(network_.notice), who, [this, who, other](Node& node) {
      const bool up = hears(who, other) && !node.revoked.contains(nodes_[other].id);
      if (up == node.heard.contains(other)) return;
      if (up) {
        node.heard.insert(other);
        node.membership->link_up(nodes_[other].id, now_);
      } else {
        node.heard.erase(other);
        node.membership->link_down(nodes_[other].id, now_);
      }
    });
  }

  void ready_later(Who who) {
    at(now_ + network_.notice + some(network_.catch_up), who, [this](Node& node) {
      if (!node.membership->in()) node.membership->ready({{node.steps, node.steps}}, now_);
    });
  }

  void freeze_later(Who who) {
    const auto number = nodes_[who].view ? nodes_[who].view->membership.number : 0;
    at(now_ + some(network_.stop), who, [this, number](Node& node) {
      if (!node.view || node.view->membership.number != number) return;
      stop_counting(node);
      node.steps += random_.below(2);
      node.membership->frozen({{node.steps, node.steps}}, now_);
    });
  }

  void post(Who from, const Membership::Envelope& envelope, Time written) {
    const Who to = index_of(envelope.to);
    ++sent_;
    if (!works_[from][to] || (network_.loss > 0 && random_.uniform() < network_.loss)) return;
    const int copies = network_.repeat > 0 && random_.uniform() < network_.repeat ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy)
      at(
          now_ + written + network_.delay + some(network_.jitter), to,
          [this, from, bytes = envelope.bytes](Node& node) {
            node.membership->received(nodes_[from].id, bytes, now_);
          },
          true);
  }

  void collect(Who who) {
    Node& node = nodes_[who];
    Membership::Output output = node.membership->take();
    if (!output.persist.empty()) node.disk = output.persist;
    if (network_.tear > 0 && !output.persist.empty() && random_.uniform() < network_.tear) {
      kill(who);
      return;
    }
    const Time written = output.persist.empty() ? Time(0) : network_.sync;
    for (const auto& envelope : output.messages) post(who, envelope, written);
    if (output.installed) {
      installed(who, *output.installed);
      stop_counting(node);
      node.trains_since = now_ + written;
    }
    if (output.freeze) freeze_later(who);
    for (const auto& revocation : output.revoked) {
      node.revoked.insert(revocation.id);
      watch(who, index_of(revocation.id));
      if (revocation.id == node.id) node.gone = true;
    }
    if (output.refused) node.refused = output.refused;
    if (output.ended) node.ended = output.ended;
    if (output.removed) {
      stop_counting(node);
      node.view.reset();
      ++node.removals;
      if (node.comes_back)
        ready_later(who);
      else
        node.gone = true;
    }
    if (node.gone) return kill(who);
    const Time next = node.membership->next_tick();
    if (next < kForever && (ticks_[who] < now_ || next < ticks_[who])) {
      ticks_[who] = next;
      at(std::max(next, now_), who, [this, who](Node& one) {
        ticks_[who] = Time(-1);
        one.membership->tick(now_);
      });
    }
  }

  void installed(Who who, const AgreedView& view) {
    Node& node = nodes_[who];
    const auto [at, first] = views_.try_emplace({view.membership.lineage, view.membership.number}, view);
    const std::string name = "view " + std::to_string(view.membership.number);
    if (!first && at->second != view) complain(name + " is two views");
    const auto self = std::ranges::find(view.membership.members, node.id, &Member::id);
    if (self == view.membership.members.end() || self->incarnation != node.membership->self().incarnation)
      complain(name + " is installed by who is not in it");
    if (node.view && node.view->membership.lineage == view.membership.lineage &&
        node.view->membership.number >= view.membership.number)
      complain(name + " comes after a later one");
    if (view.statuses.size() != view.membership.members.size()) complain(name + " lacks statuses");
    for (const auto& [id, used] : view.membership.invitations_used)
      if (used > uses_of(id)) complain(name + " counts " + std::to_string(used) + " uses of " + id);
    node.view = view;
    node.steps = std::max(node.steps, view.membership.first_step);
  }
  // Test invitations are named by their number of uses: "2:name".
  static std::uint32_t uses_of(const std::string& id) { return static_cast<std::uint32_t>(std::stoul(id)); }

  RandomStream random_;
  MembershipOptions options_;
  Network network_;
  std::vector<Node> nodes_;
  std::vector<Time> ticks_;               // when each is woken next
  std::vector<std::vector<bool>> works_;  // from, to
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, AgreedView> views_;
  std::uint64_t order_ = 0, incarnation_ = 0;
  std::size_t handled_ = 0, sent_ = 0;
  Time now_{0};
  std::string wrong_;
};

}  // namespace veche::grid
