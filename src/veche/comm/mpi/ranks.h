#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/comm/failure.h"
#include "veche/comm/mpi/job_state.h"
#include "veche/comm/mpi/lifeline.h"
#include "veche/endpoint.h"

namespace veche {

// The ranks of a job, which agree on how something ended and learn which rank cannot continue. A
// failure travels two ways: at once over the lifeline, so that waiting ranks come to the next
// exchange; and in that exchange, where all agree on it. Ranks that do not come, because they
// compute or hang inside MPI, are ended with the job; the sentence is known by then. Methods as in
// Job.
class MpiRanks {
 public:
  // Collective.
  MpiRanks();
  ~MpiRanks();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int ranks_here() const { return ranks_here_; }
  MPI_Comm comm() const { return comm_; }
  JobState& state() { return state_; }
  const std::string& host_of(int rank) const { return hosts_.at(static_cast<std::size_t>(rank)); }

  void on_loss(std::function<void(const std::string&)> report);
  std::vector<std::string> exchange(const std::string& mine, Time limit);
  [[noreturn]] void fail(const std::exception& why);

  // Collective and last. Returns true if all ranks have reached their end and no memory is left to
  // MPI.
  bool all_end_well();
  // Ends the job by MPI_Abort. The first rank speaks first; the others give it the time.
  [[noreturn]] void end_job(int speaker = 0);

 private:
  std::vector<std::string> agree(const std::string& mine, Time limit, const Failure& otherwise);
  bool wait(MPI_Request& request, JobState::Clock::time_point until);
  void tell_all(const Failure& mine, std::uint64_t exchange);
  void learn(const Lifeline::FailureReport& report);
  std::string name_of(int rank) const { return "rank " + std::to_string(rank) + " on " + host_of(rank); }

  // On the lifeline's thread. The other threads may hang inside MPI, so nothing is unwound.
  void heartbeat();
  void lose(int rank);
  void end_job(const Failure& failure, int speaker);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int ranks_here_ = 1;
  std::vector<std::string> hosts_;
  JobState state_;

  // Main thread: the last agreed failure, and why there are no more exchanges.
  std::optional<Failure> agreed_;
  std::optional<Failure> verdict_;

  Mutex mutex_;
  // Number of exchanges; the failure reported outside of them, when it was learned, and the
  // exchange that agreed on it.
  std::uint64_t exchanges_ VECHE_GUARDED_BY(mutex_) = 0;
  std::optional<Failure> known_ VECHE_GUARDED_BY(mutex_);
  JobState::Clock::time_point learned_ VECHE_GUARDED_BY(mutex_);
  std::uint64_t agreed_in_ VECHE_GUARDED_BY(mutex_) = 0;
  int exit_code_ VECHE_GUARDED_BY(mutex_) = 1;

  Mutex telling_;
  std::function<void(const std::string&)> report_loss_ VECHE_GUARDED_BY(telling_);

  std::optional<Lifeline> lifeline_;  // declared last: its thread uses the others
};

}  // namespace veche
