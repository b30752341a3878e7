#include "veche/comm/mpi/mpi_sums.h"

#include <algorithm>
#include <thread>

namespace veche {
namespace {

using Clock = MpiSums::Clock;

constexpr std::size_t kMostFloats = std::size_t{1} << 30;  // floats: MPI counts with int
// Up to this many floats MPI sums a copy that may be abandoned. Longer sums use MPI's blocking
// call, which is faster and in place but cannot be abandoned; it starts when all have arrived. It
// also polls without pause, which matters with more ranks than cores.
constexpr std::size_t kSmall = std::size_t{1} << 11;
constexpr std::size_t kSmallOversubscribed = std::size_t{1} << 16;
// Awaited nodes are often just not on a core: yield many times before sleeping.
constexpr int kOffers = 500;
// Messages of a node that is gone may still be in transit.
constexpr std::chrono::seconds kSumOnItsWay{1};

template <class Call>
void in_parts(std::span<float> data, Call call) {
  for (std::size_t from = 0; from < data.size(); from += kMostFloats)
    call(data.data() + from, static_cast<int>(std::min(kMostFloats, data.size() - from)));
}

void add_to(std::span<float> sum, std::span<const float> data) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += data[i];
}

// A wait that ends at its deadline, or soon after a loss.
class Limit {
 public:
  Limit(const ProgressEngine& progress_engine, Clock::time_point until)
      : progress_engine_(progress_engine), until_(until) {}

  std::optional<MpiSums::End> reached() {
    if (!lost_ && progress_engine_.first_lost()) {
      lost_ = true;
      until_ = std::min(until_, Clock::now() + kSumOnItsWay);
    }
    if (Clock::now() < until_) return {};
    return lost_ ? MpiSums::End::lost : MpiSums::End::timed_out;
  }

 private:
  const ProgressEngine& progress_engine_;
  Clock::time_point until_;
  bool lost_ = false;
};

}  // namespace

MpiSums::MpiSums(ProgressEngine& progress_engine)
    : progress_engine_(progress_engine),
      nodes_here_(static_cast<std::size_t>(progress_engine.placement().nodes_here())) {
  MPI_Comm_dup(progress_engine.comm(), &comm_);
}

MpiSums::~MpiSums() { MPI_Comm_free(&comm_); }

std::size_t MpiSums::index(NodeId node) const {
  return static_cast<std::size_t>(node.value - progress_engine_.placement().first_here());
}

MpiSums::Key MpiSums::next(std::map<std::pair<NodeId, Tag>, std::uint64_t>& counts, NodeId node, Tag tag) {
  return {tag, counts[{node, tag}]++};
}

void MpiSums::begin(NodeId node, Tag tag, std::span<const float> data) {
  Message copy = pool_.copy_of(data);
  const MutexLock lock(mutex_);
  Sum& sum = sums_[next(begun_, node, tag)];
  sum.copies.resize(nodes_here_);
  sum.copies[index(node)] = std::move(copy);
  if (++sum.come == nodes_here_) start(sum);
}

bool MpiSums::has_begun(NodeId node, Tag tag) {
  const MutexLock lock(mutex_);
  return begun_[{node, tag}] > finished_[{node, tag}];
}

void MpiSums::start(Sum& sum) {
  sum.total = std::move(sum.copies.front());
  const std::span<float> total = sum.total.writable<float>();
  for (std::size_t i = 1; i < nodes_here_; ++i) add_to(total, sum.copies[i].as<float>());
  sum.copies.clear();
  ++progress_engine_.sums_under_way;
  in_parts(total, [&](float* data, int count) {
    MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm_, &sum.requests.emplace_back());
  });
}

void MpiSums::test(Sum& sum) {
  int done = 0;
  MPI_Testall(static_cast<int>(sum.requests.size()), sum.requests.data(), &done, MPI_STATUSES_IGNORE);
  if (done == 0) return;
  sum.end = End::done;
  --progress_engine_.sums_under_way;
  changed_.notify_all();
}

void MpiSums::leave(const Key& key, Sum& sum) {
  if (++sum.left == nodes_here_) sums_.erase(key);
}

MpiSums::End MpiSums::finish(NodeId node, Tag tag, std::span<float> data, Clock::time_point until) {
  MutexLock lock(mutex_);
  const Key key = next(finished_, node, tag);
  Sum& sum = sums_.at(key);
  Limit limit(progress_engine_, until);
  Backoff backoff(progress_engine_.oversubscribed());
  for (;;) {
    if (sum.come == nodes_here_ && !sum.end) test(sum);
    if (sum.end) break;
    if (const auto end = limit.reached()) return *end;  // MPI keeps the copy
    const auto length = backoff.next();
    if (length > Backoff::Duration::zero()) {
      changed_.wait_for(mutex_, length);
    } else {
      lock.unlock();
      lock.lock();
    }
  }
  lock.unlock();
  std::ranges::copy(sum.total.as<float>(), data.begin());
  lock.lock();
  leave(key, sum);
  return End::done;
}

MpiSums::End MpiSums::whole(NodeId node, Tag tag, std::span<float> data, Clock::time_point until) {
  if (nodes_here_ == 1) return sum_now(std::span(&data, 1), until);
  MutexLock lock(mutex_);
  const Key key = next(begun_, node, tag);
  next(finished_, node, tag);
  Sum& sum = sums_[key];
  sum.parts.resize(nodes_here_);
  sum.parts[index(node)] = data;
  sum.until = std::min(sum.until, until);
  if (++sum.come == nodes_here_ && !sum.end) {
    lock.unlock();  // the others of this sum wait for it, whatever their deadlines, which are checked here
    const End end = sum_now(sum.parts, sum.until);
    lock.lock();
    sum.end = end;
    changed_.notify_all();
  }
  for (Limit limit(progress_engine_, until); !sum.end;) {
    // The first node that leaves ends the sum for all: its data are not touched then.
    if (sum.come < nodes_here_) sum.end = limit.reached();
    if (!sum.end) changed_.wait_for(mutex_, std::chrono::milliseconds(100));
  }
  const End end = *sum.end;
  changed_.notify_all();
  leave(key, sum);
  return end;
}

MpiSums::End MpiSums::sum_now(std::span<const std::span<float>> parts, Clock::time_point until) {
  const std::span<float> total = parts.front();
  if (total.size() <= (progress_engine_.oversubscribed() ? kSmallOversubscribed : kSmall))
    return sum_copy(parts, until);
  const Clock::time_point start = Clock::now();
  std::vector<MPI_Request> requests(1);
  MPI_Ibarrier(comm_, requests.data());
  if (const End end = wait(requests, until); end != End::done) return end;
  // From here on only a dead or hanging node can be missing. The job is ended if that takes as long
  // again.
  progress_engine_.job().call_ends = (Clock::now() + (until - start)).time_since_epoch().count();
  for (const std::span<float>& part : parts.subspan(1)) add_to(total, part);
  in_parts(total, [&](float* part, int count) {
    MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_FLOAT, MPI_SUM, comm_);
  });
  progress_engine_.job().call_ends = 0;
  for (const std::span<float>& part : parts.subspan(1)) std::ranges::copy(total, part.begin());
  return End::done;
}

MpiSums::End MpiSums::sum_copy(std::span<const std::span<float>> parts, Clock::time_point until) {
  Message total = pool_.copy_of(std::span<const float>(parts.front()));
  for (const std::span<float>& part : parts.subspan(1)) add_to(total.writable<float>(), part);
  std::vector<MPI_Request> requests;
  in_parts(total.writable<float>(), [&](float* part, int count) {
    MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_FLOAT, MPI_SUM, comm_, &requests.emplace_back());
  });
  if (const End end = wait(requests, until); end != End::done) {
    leave_behind(std::move(total));
    return end;
  }
  for (const std::span<float>& part : parts) std::ranges::copy(total.as<float>(), part.begin());
  return End::done;
}

MpiSums::End MpiSums::wait(std::vector<MPI_Request>& requests, Clock::time_point until) {
  Limit limit(progress_engine_, until);
  Backoff backoff(progress_engine_.oversubscribed());
  for (int done = 0, offers = progress_engine_.oversubscribed() ? 0 : kOffers;;) {
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0) return End::done;
    if (const auto end = limit.reached()) return *end;
    if (++offers < kOffers)
      std::this_thread::yield();
    else if (const auto length = backoff.next(); length > Backoff::Duration::zero())
      std::this_thread::sleep_for(length);
  }
}

}  // namespace veche
