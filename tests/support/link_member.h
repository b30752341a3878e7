#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "veche/base/thread/mutex.h"
#include "veche/comm/grid/links/links.h"

namespace veche::grid {

// deadline for events that must happen; no test waits for it to pass
inline constexpr std::chrono::seconds kLimit{30};

// A run and the keys of its members.
struct TestRun {
  const Instant now = std::chrono::system_clock::now();
  const KeyPair root = KeyPair::make(), founder = KeyPair::make();
  const std::string certificate = make_root(root, now);
  const std::string warrant = make_root_warrant(root, founder.get(), now);

  std::shared_ptr<Trust> trust() const {
    auto made = std::make_shared<Trust>(certificate);
    made->learn(warrant);
    return made;
  }
};

// A member that records the events of its links.
class TestMember : public LinkEvents {
 public:
  explicit TestMember(const TestRun& run, LinkOptions options = {}, const KeyPair& own = KeyPair::make())
      : key(own),
        trust(run.trust()),
        links(key, trust, make_member(run.founder, key.get(), run.now), options, *this) {
    links.start();
  }
  ~TestMember() override { links.stop(); }

  struct Data {
    DataHead head;
    bool ended;
    Message message;
  };
  // What the links have reported so far.
  struct Seen {
    std::map<MemberId, int> ups;
    std::map<MemberId, std::string> downs, heartbeats;
    std::vector<std::string> words;
    std::deque<Data> messages;
    std::vector<MemberId> askers;
  };
  Seen seen() const {
    const MutexLock lock(mutex_);
    return seen_;
  }
  // Waits until the condition holds for what is seen; returns whether it came to hold.
  template <class Condition>
  bool wait(Condition condition, std::chrono::milliseconds limit = kLimit) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, limit, [&]() VECHE_REQUIRES(mutex_) { return condition(seen_); });
  }
  bool wait_up(const TestMember& other) {
    return wait([&](const Seen& seen) { return seen.ups.contains(other.key.id()); });
  }
  bool wait_down(const TestMember& other) {
    return wait([&](const Seen& seen) { return seen.downs.contains(other.key.id()); });
  }
  MemberId id() const { return key.id(); }

  void up(const MemberId& peer, const Hello&) override {
    note([&](Seen& seen) { ++seen.ups[peer]; });
  }
  void down(const MemberId& peer, const std::string& why) override {
    note([&](Seen& seen) { seen.downs[peer] = why; });
  }
  void word(const MemberId&, std::string text) override {
    note([&](Seen& seen) { seen.words.push_back(text); });
  }
  void data(const MemberId&, const DataHead& head, bool ended, Message message) override {
    note([&](Seen& seen) { seen.messages.push_back({head, ended, message}); });
  }
  void request(const Asker& asker, Service, std::string text, Answer answer) override {
    note([&](Seen& seen) { seen.askers.push_back(asker.id); });
    if (text == "nothing") return answer({});
    MessagePool pool;
    const std::string reply = "you said " + text;
    answer(pool.copy_of(std::span<const char>(reply)));
  }
  void heartbeat(const MemberId& from, const std::string& text) override {
    note([&](Seen& seen) { seen.heartbeats[from] = text; });
  }

  const KeyPair key;
  const std::shared_ptr<Trust> trust;

 private:
  template <class Change>
  void note(Change change) {
    const MutexLock lock(mutex_);
    change(seen_);
    changed_.notify_all();
  }

  mutable Mutex mutex_;
  ConditionVariable changed_;
  Seen seen_ VECHE_GUARDED_BY(mutex_);

 public:
  Links links;  // last: it reports to the above
};

inline void link(TestMember& a, TestMember& b) {
  a.links.want(b.id(), b.links.addresses());
  b.links.want(a.id(), a.links.addresses());
  ASSERT_TRUE(a.wait_up(b));
  ASSERT_TRUE(b.wait_up(a));
}

inline Message filled(MessagePool& pool, std::size_t bytes, std::uint64_t k) {
  Message message = pool.make(bytes);
  for (char& each : message.writable<char>()) each = static_cast<char>(k++ % 251);
  return message;
}

}  // namespace veche::grid
