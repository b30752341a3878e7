// Random faults from seeds: links that lose, delay, repeat, reorder and work in one direction only;
// members that die (also between disk and network), sleep and return with or without their stored
// state; newcomers, leaving members, competing proposers. Invariants: one view per lineage and
// number, installed by its members; and when the faults end, all agree within a bounded time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/support/virtual_members.h"

namespace veche::grid {
namespace {

constexpr std::size_t kNewcomers = 2;
constexpr Time kEnough{60};  // of virtual time without faults

std::uint64_t schedules() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr std::uint64_t kSchedules = 1000;
#else
  constexpr std::uint64_t kSchedules = 20000;
#endif
  const char* given = std::getenv("SEEDS");
  return given == nullptr ? kSchedules : std::stoull(given);
}

MembershipOptions quick() {
  MembershipOptions options;
  options.timeout = Time(2);
  options.gather = Time(0.4);
  return options;
}

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed, MembershipOptions options = quick())
      : random_(seed, "schedule"),
        count_(2 + random_.below(5)),
        members_(seed, count_ + kNewcomers, std::move(options), {}) {
    members_.form(count_);
    auto& network = members_.network();
    network.loss = random_.below(2) == 0 ? 0 : 0.3 * random_.uniform();
    network.repeat = random_.below(2) == 0 ? 0 : 0.3 * random_.uniform();
    network.jitter = Time(random_.below(2) == 0 ? 0.002 : 0.2 * random_.uniform());
    network.notice = Time(0.1 * random_.uniform());
    network.stop = Time(0.3 * random_.uniform());
    if (random_.below(4) == 0) network.tear = 0.05;
    forgets_ = random_.below(4) == 0;
  }

  void bad_luck() {
    const std::size_t faults = 1 + random_.below(8);
    for (std::size_t i = 0; i < faults; ++i) {
      fault();
      members_.run_for(Time((random_.below(3) == 0 ? 1.0 : 0.05) * random_.uniform()));
    }
  }

  // Ends all faults and revives dead members; returns the time until all were in one view.
  Time recover() {
    auto& network = members_.network();
    network.loss = network.repeat = network.tear = 0;
    network.jitter = Time(0.002);
    members_.heal();
    for (Who who = 0; who < members_.size(); ++who) {
      auto& node = members_[who];
      if (revoked_.contains(who) || (!node.comes_back && !members_.alive(who))) {
        members_.kill(who);
        node.gone = true;
      }
      if (node.disk.empty() && who >= count_) continue;  // never joined
      members_.restart(who, true);
    }
    Time awake = members_.now();
    for (Who who = 0; who < members_.size(); ++who) awake = std::max(awake, members_[who].asleep_until);
    members_.run_for(awake - members_.now());
    return members_.run_until([&] { return done(); }, kEnough);
  }

  // Newcomers whose voucher died show their invitation to another member.
  bool done() {
    if (members_.now() >= next_look_) {
      next_look_ = members_.now() + Time(1);
      for (Who who = count_; who < members_.size(); ++who) {
        if (!members_.alive(who) || members_.in(who) || members_[who].refused) continue;
        for (Who at = 0; at < members_.size(); ++at)
          if (members_.in(at)) {
            members_.join(who, at, kInvitation);
            break;
          }
      }
    }
    std::size_t expected = 0;
    for (Who who = 0; who < members_.size(); ++who) {
      auto& node = members_[who];
      if (node.refused) node.comes_back = false;
      if (members_.alive(who) && node.comes_back && !node.gone) ++expected;
      if (members_.alive(who) && members_.in(who) && !node.comes_back) return false;  // still leaving
    }
    return expected == 0 || members_.settled(expected);
  }

  VirtualMembers& members() { return members_; }
  RandomStream& random() { return random_; }

 private:
  using Who = VirtualMembers::Who;
  inline static const Invitation kInvitation{"1:of-two", 1};

  void fault() {
    const Who who = random_.below(count_), other = (who + 1 + random_.below(count_ - 1)) % count_;
    switch (random_.below(12)) {
      case 0:
      case 1:
        return members_.kill(who);
      case 2:
        members_.kill(who);
        return members_.restart(who, !forgets_);
      case 3:
        return members_.restart(who, !forgets_ || random_.below(2) == 0);
      case 4:
        return members_.set_link(who, other, false);
      case 5:
        return members_.set_both(who, other, false);
      case 6:
        return members_.heal();
      case 7: {  // a partition into two sides
        const std::uint64_t side = random_.next();
        for (Who a = 0; a < members_.size(); ++a)
          for (Who b = 0; b < a; ++b)
            if ((side >> a & 1U) != (side >> b & 1U)) members_.set_both(a, b, false);
        return;
      }
      case 8:
        return members_.sleep(who, Time(random_.below(4) == 0 ? 60 : random_.uniform()));
      case 9:
        if (members_.alive(who)) members_.stop(who);
        return;
      case 10: {
        const Who newcomer = count_ + random_.below(kNewcomers);
        if (!members_.in(newcomer)) members_.join(newcomer, who, kInvitation);
        return;
      }
      default:
        if (random_.below(3) > 0) return members_.leave(who);
        if (members_.alive(who)) revoked_.insert(other);  // it may die of it, and its message may be out
        members_.revoke(who, other);
    }
  }

  RandomStream random_;
  const std::size_t count_;
  VirtualMembers members_;
  bool forgets_ = false;
  std::set<Who> revoked_;
  Time next_look_{0};
};

// Prints the totals of all schedules.
void tell(const char* what, std::uint64_t count, std::chrono::steady_clock::time_point begun, Time longest) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::printf("%s: %.0f schedules/s, longest %.2f s of virtual time\n", what,
              static_cast<double>(count) / took.count(), longest.count());
}

TEST(MembershipSchedules, OneViewPerNumberAndAllAgreeWhenFaultsEnd) {
  const std::uint64_t count = schedules();
  const auto begun = std::chrono::steady_clock::now();
  Time longest{0};
  std::size_t events = 0, views = 0, excused = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    Schedule schedule(seed);
    schedule.bad_luck();
    const Time took = schedule.recover();
    ASSERT_EQ(schedule.members().wrong(), "") << "seed " << seed;
    events += schedule.members().events();
    views += schedule.members().views();
    if (schedule.done()) {
      longest = std::max(longest, took);
    } else {
      // Allowed only if too many members lost their promises or left for good.
      ASSERT_FALSE(schedule.members().quorum_remembers())
          << "seed " << seed << ": never agreed" << schedule.members().picture();
      ++excused;
    }
  }
  tell("faults", count, begun, longest);
  std::printf("%.1f events and %.1f views a schedule, %zu without a quorum for good\n",
              static_cast<double>(events) / static_cast<double>(count),
              static_cast<double>(views) / static_cast<double>(count), excused);
  EXPECT_LT(excused, count / 10 + 1);
}

TEST(MembershipSchedules, ForksAreViewsOfTheirOwn) {
  const std::uint64_t count = schedules() / 10;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    MembershipOptions options = quick();
    options.fork_after = Time(0.5);
    Schedule schedule(seed, options);
    schedule.bad_luck();
    schedule.members().run_for(Time(10));
    schedule.members().heal();
    schedule.members().run_for(Time(5));
    ASSERT_EQ(schedule.members().wrong(), "") << "seed " << seed;
  }
}

TEST(MembershipSchedules, ShortSilencesOfOneLinkRemoveNobody) {
  const std::uint64_t count = schedules() / 10;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    RandomStream random(seed, "flaps");
    const std::size_t nodes = 3 + random.below(5);
    VirtualMembers members(seed, nodes, quick(), {});
    members.form(nodes);
    members.network().repeat = 0.2;
    members.network().jitter = Time(0.2 * random.uniform());
    const std::size_t views = members.views();
    for (int flap = 0; flap < 5; ++flap) {
      const std::size_t from = random.below(nodes), to = (from + 1 + random.below(nodes - 1)) % nodes;
      members.set_link(from, to, false);
      members.run_for(Time(1.2 * random.uniform()));  // of 2 s of timeout
      members.set_link(from, to, true);
      members.run_for(Time(1.0));
    }
    ASSERT_EQ(members.wrong(), "") << "seed " << seed;
    ASSERT_EQ(members.views(), views) << "seed " << seed;
    for (std::size_t who = 0; who < nodes; ++who) ASSERT_EQ(members[who].removals, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace veche::grid
