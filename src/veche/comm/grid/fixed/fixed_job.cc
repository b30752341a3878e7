#include "veche/comm/grid/fixed/fixed_job.h"

#include <sys/socket.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <map>
#include <set>

#include "veche/base/thread/mutex.h"
#include "veche/comm/failure.h"
#include "veche/comm/grid/engine/grid_cluster.h"
#include "veche/comm/grid/identity/names.h"
#include "veche/comm/grid/links/links.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr Time kMadeAnew{0.5};  // a link restored within this time was not lost
constexpr Time kToLink{60};
constexpr Time kToSayFarewell{10};
constexpr std::uint64_t kExchanges = 1;  // the view number of exchanges; clusters use the following numbers

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class FixedJob : public Job, private LinkEvents {
 public:
  explicit FixedJob(const FixedMembers& given)
      : rank_(given.rank), trust_(std::make_shared<Trust>(given.root)), hosts_(given.addresses.size()) {
    for (const std::string& warrant : given.warrants) trust_->learn(warrant);
    for (const std::string& certificate : given.certificates)
      ids_.push_back(id_of(read_certificate(certificate).get()));
    LinkOptions options;
    options.listening = given.listening;
    options.name = host_name();
    hosts_[static_cast<std::size_t>(rank_)] = options.name;
    links_ = std::make_shared<Links>(KeyPair::from_pem(given.key), trust_,
                                     given.certificates[static_cast<std::size_t>(rank_)], options,
                                     static_cast<LinkEvents&>(*this));
    texts_ = std::make_shared<GridCluster>(links_, seating(kExchanges, size()), 1);
    endpoint_ = texts_->endpoint(NodeId{rank_});
    links_->start();
    for (std::size_t i = 0; i < ids_.size(); ++i) links_->want(ids_[i], {given.addresses[i]});
    MutexLock lock(mutex_);
    const bool all = changed_.wait_for(
        mutex_, kToLink, [&]() VECHE_REQUIRES(mutex_) { return static_cast<int>(up_.size()) == size() - 1; });
    lock.unlock();
    if (all) return;
    links_->stop();  // no event reaches a destroyed job
    throw RunError("not all members of the job can be reached");
  }

  ~FixedJob() override {
    try {
      agree(as_end(), kToSayFarewell);
    } catch (const Error&) {
      // The others know the reason, or are gone.
    }
    links_->flush(kToSayFarewell);
    endpoint_.reset();
    links_->flush(kToSayFarewell);
    links_->stop();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ids_.size()); }
  int ranks_on_this_host() const override {
    return static_cast<int>(std::ranges::count(hosts_, hosts_[static_cast<std::size_t>(rank_)]));
  }
  std::string host_of(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }

  // Waiting nodes learn it from their endpoint; the job does not end.
  void on_loss(std::function<void(const std::string&)> /*report*/) override {}

  std::vector<std::string> exchange(const std::string& mine, Time limit) override {
    std::vector<std::string> texts = agree(as_text(mine), limit);
    for (std::string& text : texts) text = text_of(text);
    return texts;
  }

  void fail(const std::exception& why) override {
    const Failure mine = Failure::of(why);
    if (agreed_ && agreed_->sentence == mine.sentence)
      agreed_->raise();  // an exchange has thrown it: all ranks know
    const std::string word = std::to_string(exchanges());
    for (const MemberId& id : ids_) links_->tell(id, word);
    agree(as_failure(mine), kToSayFarewell);
    mine.raise();
  }

  std::unique_ptr<Cluster> cluster(int nodes, int slots) override {
    auto made = std::make_shared<GridCluster>(links_, seating(++views_, nodes), slots, ranks_on_this_host());
    router_.present(made);
    const MutexLock lock(mutex_);
    for (const MemberId& lost : lost_) made->lose(lost);
    for (const MemberId& failed : failed_) made->lose(failed);
    return std::make_unique<Handle>(std::move(made));
  }

 private:
  // The router keeps the cluster until the next one.
  class Handle : public Cluster {
   public:
    explicit Handle(std::shared_ptr<GridCluster> inner) : inner_(std::move(inner)) {}
    std::vector<NodeId> here() const override { return inner_->here(); }
    std::unique_ptr<Endpoint> endpoint(NodeId node) override { return inner_->endpoint(node); }
    void run(const std::function<void(NodeId)>& body) override { inner_->run(body); }

   private:
    const std::shared_ptr<GridCluster> inner_;
  };

  Seating seating(std::uint64_t view, int nodes) const {
    Seating where{view, {}, static_cast<std::size_t>(rank_)};
    for (int i = 0; i < size(); ++i)
      where.seats.push_back(
          {ids_[static_cast<std::size_t>(i)], nodes / size() + (i < nodes % size() ? 1 : 0)});
    return where;
  }

  std::string name_of(int rank) const { return "rank " + std::to_string(rank) + " on " + host_of(rank); }

  std::uint64_t exchanges() {
    const MutexLock lock(mutex_);
    return exchanges_;
  }

  std::vector<std::string> agree(const std::string& mine, Time limit) {
    const Time until = endpoint_->now() + limit;
    const Tag tag{exchanges()};
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      Message message = links_->pool().make(mine.size());
      std::ranges::copy(mine, message.writable<char>().begin());
      endpoint_->send(NodeId{peer}, tag, std::move(message));
    }
    std::vector<std::string> brought;
    std::optional<Failure> failure;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_) {
        brought.push_back(mine);
        continue;
      }
      const Received received = endpoint_->receive(NodeId{peer}, tag, until);
      if (received.outcome == Received::Outcome::message) {
        const auto text = received.message.as<char>();
        brought.emplace_back(text.begin(), text.end());
      } else {
        brought.push_back(
            as_failure({Failure::Kind::lost_peer, name_of(peer) + " does not answer any more"}));
      }
    }
    failure = common_failure(brought, [this](int rank) { return name_of(rank); });
    {
      const MutexLock lock(mutex_);
      ++exchanges_;
      failed_.clear();
    }
    agreed_ = failure;
    if (failure) failure->raise();
    return brought;
  }

  // On the links thread.
  void up(const MemberId& peer, const Hello& hello) override {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] == peer && hosts_[i].empty()) hosts_[i] = hello.name;
    up_.insert(peer);
    changed_.notify_all();
  }
  void down(const MemberId& peer, const std::string& /*why*/) override {
    links_->after(kMadeAnew, [this, peer] {
      if (!links_->is_up(peer)) lose(peer);
    });
  }
  void lose(const MemberId& peer) {
    {
      const MutexLock lock(mutex_);
      lost_.insert(peer);
    }
    texts_->lose(peer);
    if (const auto present = router_.present()) present->lose(peer);
  }
  void word(const MemberId& from, std::string text) override {
    {
      const MutexLock lock(mutex_);
      if (std::stoull(text) < exchanges_) return;  // all have agreed on it since
      failed_.insert(from);
    }
    if (const auto present = router_.present()) present->lose(from);
  }
  void data(const MemberId& from, const DataHead& head, bool ended, Message message) override {
    if (head.view == kExchanges)
      texts_->deliver(from, head, ended, std::move(message));
    else if (!router_.deliver(from, head, ended, std::move(message)))
      links_->close(from, "it is too far ahead");
  }
  void request(const Requester&, Service, std::string, Answer answer) override { answer({}); }
  void heartbeat(const MemberId&, const std::string&) override {}

  const int rank_;
  const std::shared_ptr<Trust> trust_;
  std::vector<MemberId> ids_;
  std::vector<std::string> hosts_;
  ViewRouter router_;
  std::shared_ptr<GridCluster> texts_;
  std::unique_ptr<Endpoint> endpoint_;
  std::uint64_t views_ = kExchanges;
  std::optional<Failure> agreed_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::set<MemberId> up_ VECHE_GUARDED_BY(mutex_);
  std::set<MemberId> lost_ VECHE_GUARDED_BY(mutex_);
  std::set<MemberId> failed_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t exchanges_ VECHE_GUARDED_BY(mutex_) = 0;

  std::shared_ptr<Links> links_;  // declared last: its thread uses all of the above
};

}  // namespace

std::vector<FixedMembers> make_fixed_members(int count) {
  const Instant now = std::chrono::system_clock::now();
  const KeyPair root = KeyPair::make();
  const KeyPair founder = KeyPair::make();
  FixedMembers common;
  common.root = make_root(root, now);
  common.warrants = {make_root_warrant(root, founder.get(), now)};
  std::vector<FixedMembers> made(static_cast<std::size_t>(count));
  asio::io_context context;
  for (FixedMembers& each : made) {
    const KeyPair key = KeyPair::make();
    each.key = key.pem();
    common.certificates.push_back(make_member(founder, key.get(), now));
    asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    common.addresses.push_back("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
    each.listening = acceptor.release();
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    FixedMembers mine = common;
    mine.rank = static_cast<int>(i);
    mine.key = made[i].key;
    mine.listening = made[i].listening;
    made[i] = std::move(mine);
  }
  return made;
}

std::unique_ptr<Job> join_fixed_job(const FixedMembers& members) {
  return std::make_unique<FixedJob>(members);
}

}  // namespace veche::grid
