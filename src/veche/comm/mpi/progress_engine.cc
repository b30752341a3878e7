#include "veche/comm/mpi/progress_engine.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <stdexcept>

#include "veche/base/thread/mutex.h"
#include "veche/comm/check_id.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

constexpr int kEnvelopeTag = 1;
constexpr int kBytesTag = 2;
constexpr std::size_t kEnvelopeBytes = 2048;              // below every MPI's eager limit
constexpr std::size_t kEnvelopesAwaited = 32;             // more wait inside MPI
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // MPI counts with int

enum class Kind : std::uint32_t { inside, follows, leave };

}  // namespace

struct ProgressEngine::Header {
  Kind kind = Kind::inside;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};

int Placement::first_of(int of) const {
  return static_cast<int>(part_start(static_cast<std::size_t>(nodes), ranks, of));
}

int Placement::rank_of(NodeId node) const {
  check_id(node, nodes);
  int of = static_cast<int>(static_cast<std::int64_t>(node.value) * ranks / nodes);
  while (first_of(of) > node.value) --of;
  while (first_of(of + 1) <= node.value) ++of;
  return of;
}

ProgressEngine::ProgressEngine(MPI_Comm comm, Placement placement, bool oversubscribed, JobState& job)
    : comm_(comm),
      placement_(placement),
      oversubscribed_(oversubscribed),
      job_(job),
      mailboxes_(static_cast<std::size_t>(placement.nodes_here())),
      alive_(static_cast<std::size_t>(placement.nodes)),
      envelope_requests_(kEnvelopesAwaited) {
  for (auto& flag : alive_) flag = true;
  for (MPI_Request& request : envelope_requests_) {
    envelopes_.push_back(pool_.make(kEnvelopeBytes));
    MPI_Recv_init(envelopes_.back().writable<std::byte>().data(), kEnvelopeBytes, MPI_BYTE, MPI_ANY_SOURCE,
                  kEnvelopeTag, comm_, &request);
    MPI_Start(&request);
  }
  poller_ = std::jthread([this](const std::stop_token& stop) { poll_in_background(stop); });
}

ProgressEngine::~ProgressEngine() {
  for (int i = placement_.first_here(); i < placement_.first_of(placement_.rank + 1); ++i) leave(NodeId{i});
  Backoff backoff(oversubscribed_);
  while (!idle()) {
    if (poll())
      backoff.reset();
    else
      std::this_thread::sleep_for(backoff.next());
  }
  poller_ = {};
  for (MPI_Request& request : envelope_requests_) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  MPI_Comm comm = comm_;
  MPI_Comm_free(&comm);
}

std::optional<NodeId> ProgressEngine::first_lost() const {
  for (int i = 0; i < placement_.nodes; ++i)
    if (!alive(NodeId{i})) return NodeId{i};
  return {};
}

Mailbox& ProgressEngine::mailbox(NodeId local) {
  return mailboxes_.at(static_cast<std::size_t>(local.value - placement_.first_here()));
}

void ProgressEngine::send(NodeId from, NodeId to, Tag tag, Message message) {
  const int rank = placement_.rank_of(to);
  if (rank == placement_.rank) return mailbox(to).put(from, tag, std::move(message));
  const bool inside = sizeof(Header) + message.size() <= kEnvelopeBytes;
  const Header header{inside ? Kind::inside : Kind::follows, from.value, to.value, tag.value, message.size()};
  const MutexLock lock(mutex_);
  if (inside)
    post(rank, header, message.bytes(), {});
  else
    post(rank, header, {}, message);
}

void ProgressEngine::leave(NodeId node) {
  if (!mark_gone(node)) return;
  const MutexLock lock(mutex_);
  for (int rank = 0; rank < placement_.ranks; ++rank)
    if (rank != placement_.rank) post(rank, {Kind::leave, node.value, 0, 0, 0}, {}, {});
}

void ProgressEngine::post(int rank, const Header& header, std::span<const std::byte> inside,
                          const Message& keep) {
  Message envelope = pool_.make(sizeof(Header) + inside.size());
  std::byte* const bytes = envelope.writable<std::byte>().data();
  std::memcpy(bytes, &header, sizeof header);
  if (!inside.empty()) std::memcpy(bytes + sizeof header, inside.data(), inside.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(bytes, static_cast<int>(envelope.size()), MPI_BYTE, rank, kEnvelopeTag, comm_, &request);
  sending_requests_.push_back(request);
  sending_.push_back(std::move(envelope));
  for (std::size_t from = 0; from < keep.size(); from += kMostBytes) {
    const std::size_t part = std::min(kMostBytes, keep.size() - from);
    MPI_Isend(keep.bytes().data() + from, static_cast<int>(part), MPI_BYTE, rank, kBytesTag, comm_, &request);
    sending_requests_.push_back(request);
    sending_.push_back(keep);
  }
}

bool ProgressEngine::poll() {
  if (!mutex_.try_lock()) return false;
  const MutexLock lock(mutex_, std::adopt_lock);
  bool moved = read_envelopes();
  moved = finish_arriving() || moved;
  moved = finish_sending() || moved;
  return moved;
}

bool ProgressEngine::read_envelopes() {
  bool moved = false;
  for (;;) {
    MPI_Request& request = envelope_requests_[next_envelope_];
    MPI_Status status;
    int done = 0;
    MPI_Test(&request, &done, &status);
    if (done == 0) return moved;
    read(envelopes_[next_envelope_].bytes().data(), status.MPI_SOURCE);
    MPI_Start(&request);
    next_envelope_ = (next_envelope_ + 1) % envelope_requests_.size();
    moved = true;
  }
}

void ProgressEngine::read(const std::byte* envelope, int from_rank) {
  Header header;
  std::memcpy(&header, envelope, sizeof header);
  const NodeId from{header.from};
  const NodeId to{header.to};
  if (header.kind == Kind::leave) {
    mark_gone(from);
    return;
  }
  Message message = pool_.make(header.bytes);
  std::byte* const bytes = message.writable<std::byte>().data();
  if (header.kind == Kind::inside) {
    std::memcpy(bytes, envelope + sizeof header, header.bytes);
    return mailbox(to).put(from, Tag{header.tag}, std::move(message));
  }
  const std::size_t size = message.size();
  const auto arriving = std::make_shared<Arriving>(
      Arriving{to, mailbox(to).announce(from, Tag{header.tag}), std::move(message), 0});
  for (std::size_t start = 0; start < size; start += kMostBytes, ++arriving->parts) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(bytes + start, static_cast<int>(std::min(kMostBytes, size - start)), MPI_BYTE, from_rank,
              kBytesTag, comm_, &request);
    arriving_requests_.push_back(request);
    arriving_.push_back(arriving);
  }
}

namespace {

// The completed requests, highest first, so that the last can take an erased one's place.
void find_finished(std::vector<MPI_Request>& requests, std::vector<int>& finished) {
  finished.resize(requests.size());
  int count = 0;
  if (!requests.empty())
    MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, finished.data(),
                 MPI_STATUSES_IGNORE);
  finished.resize(static_cast<std::size_t>(std::max(count, 0)));
  std::ranges::sort(finished, std::greater{});
}

template <class T>
void erase_at(std::vector<MPI_Request>& requests, std::vector<T>& of, int index) {
  const auto at = static_cast<std::size_t>(index);
  requests[at] = requests.back();
  requests.pop_back();
  if (at + 1 != of.size()) of[at] = std::move(of.back());
  of.pop_back();
}

}  // namespace

bool ProgressEngine::finish_arriving() {
  find_finished(arriving_requests_, finished_);
  for (const int index : finished_) {
    Arriving& arriving = *arriving_[static_cast<std::size_t>(index)];
    if (--arriving.parts == 0) mailbox(arriving.to).fill(arriving.announced, std::move(arriving.message));
    erase_at(arriving_requests_, arriving_, index);
  }
  return !finished_.empty();
}

bool ProgressEngine::finish_sending() {
  find_finished(sending_requests_, finished_);
  for (const int index : finished_) erase_at(sending_requests_, sending_, index);
  return !finished_.empty();
}

bool ProgressEngine::mark_gone(NodeId node) {
  const bool was_there = alive_[static_cast<std::size_t>(node.value)].exchange(false);
  for (Mailbox& mailbox : mailboxes_) mailbox.wake_all();
  return was_there;
}

void ProgressEngine::poll_in_background(const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any asked_to_stop;
  Backoff backoff(true);
  while (!stop.stop_requested()) {
    if (poll()) {
      backoff.reset();
      continue;
    }
    MutexLock lock(mutex);
    const auto longest = sums_under_way > 0 || under_way() ? Backoff::kLongest : Backoff::kLongestForOthers;
    if (const auto length = backoff.next(longest); length > Backoff::Duration::zero())
      asked_to_stop.wait_for(lock, stop, length, [] { return false; });
  }
}

bool ProgressEngine::under_way() {
  const MutexLock lock(mutex_);
  return !arriving_.empty() || !sending_.empty();
}

bool ProgressEngine::idle() {
  if (std::ranges::any_of(alive_, [](const auto& flag) { return flag.load(); })) return false;
  return !under_way();
}

}  // namespace veche
