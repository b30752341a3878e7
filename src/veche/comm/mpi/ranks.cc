#include "veche/comm/mpi/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include "veche/comm/cluster.h"
#include "veche/comm/mpi/backoff.h"
#include "veche/comm/mpi/exchange.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Clock = JobState::Clock;

// For ranks that know of a failure to reach the exchange in which all agree on it.
constexpr std::chrono::seconds kToAgree{8};
// Then the job is ended, wherever its ranks are. The first rank speaks, and the others give it the
// time: a rank that could not agree must not end the job before that.
constexpr std::chrono::seconds kToEnd{11};
constexpr std::chrono::seconds kToSpeak{5};
static_assert(kToAgree + kToSpeak > kToEnd);
constexpr std::chrono::milliseconds kToBeRead{300};  // launchers drop output that they have not read yet
constexpr auto kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

MpiRanks::MpiRanks() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &ranks_here_);
  MPI_Comm_free(&local);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  hosts_ = exchange(std::string(name.data(), static_cast<std::size_t>(length)), kForever);
  int socket = -1;
  const std::string where = exchange(rank_ == 0 ? Lifeline::listen(socket) : "", kForever).front();
  lifeline_.emplace(rank_, size_, socket, where,
                    Lifeline::Calls{[this](int lost) { lose(lost); },
                                    [this](const Lifeline::FailureReport& report) { learn(report); },
                                    [this] { heartbeat(); }});
}

MpiRanks::~MpiRanks() {
  lifeline_.reset();
  MPI_Comm_free(&comm_);
}

void MpiRanks::on_loss(std::function<void(const std::string&)> report) {
  const MutexLock lock(telling_);
  report_loss_ = std::move(report);
}

std::vector<std::string> MpiRanks::exchange(const std::string& mine, Time limit) {
  std::vector<std::string> texts =
      agree(as_text(mine), limit, {Failure::Kind::lost_peer, "not all ranks answer any more"});
  for (std::string& text : texts) text = text_of(text);
  return texts;
}

void MpiRanks::fail(const std::exception& why) {
  const Failure mine = Failure::of(why);
  // An exchange has thrown it, so all ranks know. Some may have been at another, outer exchange.
  if (agreed_ && agreed_->sentence == mine.sentence) agreed_->raise();
  std::uint64_t exchange = 0;
  {
    const MutexLock lock(mutex_);
    exchange = exchanges_;
  }
  if (!verdict_) tell_all(mine, exchange);
  agree(as_failure(mine), kToAgree, {mine.kind, name_of(rank_) + ": " + mine.sentence});
  mine.raise();  // not reached: some rank has reported a failure
}

// One exchange: throws the ranks' failure. If not all ranks come, throws the known failure, or else
// `otherwise`.
std::vector<std::string> MpiRanks::agree(const std::string& mine, Time limit, const Failure& otherwise) {
  if (verdict_) verdict_->raise();
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  auto brought = all_texts(comm_, mine, [&](MPI_Request& request) { return wait(request, until); });
  std::optional<Failure> failure;
  if (brought) failure = common_failure(*brought, [this](int rank) { return name_of(rank); });
  const MutexLock lock(mutex_);
  if (!brought) {
    state_.given_up = true;
    failure = known_ && known_->kind < otherwise.kind ? *known_ : otherwise;
  } else if (++exchanges_ > agreed_in_) {
    known_.reset();
    state_.failed = -1;
  }
  agreed_ = failure;
  if (!failure) return std::move(*brought);
  if (!brought || std::ranges::any_of(*brought, is_end)) verdict_ = failure;
  exit_code_ = failure->exit_code();
  failure->raise();
}

bool MpiRanks::wait(MPI_Request& request, Clock::time_point until) {
  Backoff backoff(ranks_here_ > sysconf(_SC_NPROCESSORS_ONLN));
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (Clock::now() > until) return false;
    if (state_.failed >= 0) {
      const MutexLock lock(mutex_);
      if (known_ && Clock::now() > learned_ + kToAgree) return false;
    }
    std::this_thread::sleep_for(backoff.next());
  }
}

void MpiRanks::tell_all(const Failure& mine, std::uint64_t exchange) {
  const Lifeline::FailureReport report{rank_, exchange, as_failure(mine)};
  learn(report);
  lifeline_->tell(report);
}

void MpiRanks::learn(const Lifeline::FailureReport& report) {
  const MutexLock lock(mutex_);
  if (report.exchange < exchanges_) return;  // all have agreed on it since
  const Failure failure{static_cast<Failure::Kind>(report.report.front()),
                        name_of(report.rank) + ": " + text_of(report.report)};
  if (known_ && known_->kind <= failure.kind) return;
  if (!known_) learned_ = Clock::now();
  known_ = failure;
  agreed_in_ = report.exchange;
  state_.failed = report.rank;
}

void MpiRanks::heartbeat() {
  const Clock::rep ends = state_.call_ends;
  if (ends != 0 && state_.failed < 0 && Clock::now().time_since_epoch().count() > ends)
    tell_all({Failure::Kind::failed,
              "a sum over all ranks does not complete although all ranks have entered it: a rank or the "
              "network hangs"},
             kNever);
  if (state_.failed < 0) return;
  MutexLock lock(mutex_);
  if (!known_ || Clock::now() < learned_ + kToEnd) return;
  const Failure failure = *known_;
  lock.unlock();
  end_job(failure, 0);
}

void MpiRanks::lose(int rank) {
  MutexLock lock(mutex_);
  const std::optional<Failure> cause = known_;  // the first rank knows it too, and reports it
  lock.unlock();
  if (cause) return end_job(*cause, 0);
  end_job({Failure::Kind::failed, name_of(rank) + " is gone: its process was killed or crashed"},
          rank == 0 ? 1 : 0);
}

void MpiRanks::end_job(const Failure& failure, int speaker) {
  if (rank_ == speaker) {
    const MutexLock lock(telling_);
    if (report_loss_) report_loss_(failure.sentence);
  }
  {
    const MutexLock lock(mutex_);
    exit_code_ = failure.exit_code();
  }
  end_job(speaker);
}

bool MpiRanks::all_end_well() {
  try {
    const auto brought =
        agree(as_end(state_.given_up ? "gave up" : ""), kForever, {Failure::Kind::lost_peer, "no end"});
    return std::ranges::all_of(brought, [](const std::string& each) { return text_of(each).empty(); });
  } catch (const Error&) {
    return false;
  }
}

void MpiRanks::end_job(int speaker) {
  std::this_thread::sleep_for(rank_ == speaker ? kToBeRead : kToSpeak);
  int code = 1;
  {
    const MutexLock lock(mutex_);
    code = exit_code_;
  }
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

}  // namespace veche
