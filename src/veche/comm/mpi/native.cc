#include "veche/comm/mpi/native.h"

#include <algorithm>
#include <thread>

namespace veche {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 30;   // floats: MPI counts with int
constexpr std::size_t kSmall = std::size_t{1} << 16;  // floats up to which waiting is most of it

template <class Call>
void in_parts(std::span<float> data, Call call) {
  for (std::size_t from = 0; from < data.size(); from += kPart)
    call(data.data() + from, static_cast<int>(std::min(kPart, data.size() - from)));
}

void add_to(std::span<float> sum, std::span<const float> data) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += data[i];
}

// Those waited for are often just not on a core: it is offered to them many times before sleeping.
constexpr int kOffers = 500;

void wait_quietly(std::vector<MPI_Request>& requests) {
  Nap nap(true);
  for (int done = 0, offers = 0;;) {
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0) return;
    if (++offers < kOffers)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap.next());
  }
}

}  // namespace

MpiSums::MpiSums(PostOffice& office)
    : office_(office), nodes_here_(static_cast<std::size_t>(office.placement().nodes_here())) {
  MPI_Comm_dup(office.comm(), &comm_);
}

MpiSums::~MpiSums() {
  if (!office_.given_up()) MPI_Comm_free(&comm_);
}

std::size_t MpiSums::index(NodeId node) const {
  return static_cast<std::size_t>(node.value - office_.placement().first_here());
}

MpiSums::Key MpiSums::next(std::map<std::pair<NodeId, Tag>, std::uint64_t>& counts, NodeId node, Tag tag) {
  return {tag, counts[{node, tag}]++};
}

void MpiSums::begin(NodeId node, Tag tag, std::span<float> data) {
  const std::lock_guard lock(mutex_);
  Sum& sum = sums_[next(begun_, node, tag)];
  sum.parts.resize(nodes_here_);
  sum.parts[index(node)] = data;
  if (++sum.come == nodes_here_) start(sum);
}

bool MpiSums::has_begun(NodeId node, Tag tag) {
  const std::lock_guard lock(mutex_);
  return begun_[{node, tag}] > finished_[{node, tag}];
}

void MpiSums::start(Sum& sum) {
  sum.copy = pool_.make(sum.parts.front().size_bytes());
  const std::span<float> total = sum.copy.writable<float>();
  std::ranges::copy(sum.parts.front(), total.begin());
  for (std::size_t i = 1; i < nodes_here_; ++i) add_to(total, sum.parts[i]);
  in_parts(total, [&](float* data, int count) {
    MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm_, &sum.requests.emplace_back());
  });
  sum.under_way = true;
}

void MpiSums::test(Sum& sum) {
  int done = 0;
  MPI_Testall(static_cast<int>(sum.requests.size()), sum.requests.data(), &done, MPI_STATUSES_IGNORE);
  if (done == 0) return;
  for (const std::span<float>& part : sum.parts) std::ranges::copy(sum.copy.as<float>(), part.begin());
  sum.done = true;
  changed_.notify_all();
}

void MpiSums::leave(const Key& key, Sum& sum) {
  if (++sum.left == nodes_here_) sums_.erase(key);
}

MpiSums::End MpiSums::finish(NodeId node, Tag tag, Mailbox::Clock::time_point until) {
  std::unique_lock lock(mutex_);
  const Key key = next(finished_, node, tag);
  Sum& sum = sums_.at(key);
  Nap nap(office_.crowded());
  for (;;) {
    if (sum.under_way && !sum.done) test(sum);
    if (sum.done) {
      leave(key, sum);
      return End::done;
    }
    // Left behind with its copy, which MPI may still write to.
    if (anybody_lost()) return End::lost;
    if (Mailbox::Clock::now() >= until) return End::timed_out;
    const auto length = nap.next();
    if (length > Nap::Duration::zero()) {
      changed_.wait_for(lock, length);
    } else {
      lock.unlock();
      lock.lock();
    }
  }
}

MpiSums::End MpiSums::whole(NodeId node, Tag tag, std::span<float> data, Mailbox::Clock::time_point until) {
  if (nodes_here_ == 1) {
    sum_now(data);
    return End::done;
  }
  std::unique_lock lock(mutex_);
  const Key key = next(begun_, node, tag);
  next(finished_, node, tag);
  Sum& sum = sums_[key];
  sum.parts.resize(nodes_here_);
  sum.parts[index(node)] = data;
  if (++sum.come < nodes_here_) {
    while (!sum.done) {
      if (anybody_lost()) return End::lost;
      if (Mailbox::Clock::now() >= until) return End::timed_out;
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
  } else {
    lock.unlock();  // the others of this sum are asleep
    for (std::size_t i = 1; i < nodes_here_; ++i) add_to(sum.parts.front(), sum.parts[i]);
    sum_now(sum.parts.front());
    for (std::size_t i = 1; i < nodes_here_; ++i) std::ranges::copy(sum.parts.front(), sum.parts[i].begin());
    lock.lock();
    sum.done = true;
    changed_.notify_all();
  }
  leave(key, sum);
  return End::done;
}

// MPI's blocking sums are the fastest and look for each other without rest. Where ranks outnumber cores they
// therefore begin when all have come.
void MpiSums::sum_now(std::span<float> data) {
  std::vector<MPI_Request> requests;
  if (office_.crowded() && data.size() <= kSmall) {
    in_parts(data, [&](float* part, int count) {
      MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_FLOAT, MPI_SUM, comm_, &requests.emplace_back());
    });
    return wait_quietly(requests);
  }
  if (office_.crowded()) {
    MPI_Ibarrier(comm_, &requests.emplace_back());
    wait_quietly(requests);
  }
  in_parts(data, [&](float* part, int count) {
    MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_FLOAT, MPI_SUM, comm_);
  });
}

bool MpiSums::anybody_lost() const {
  for (int i = 0; i < office_.placement().nodes; ++i)
    if (!office_.alive(NodeId{i})) return true;
  return false;
}

}  // namespace veche
