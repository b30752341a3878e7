#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <thread>

#include "veche/base/errors.h"
#include "veche/comm/mpi/endpoint.h"
#include "veche/comm/mpi/lifeline.h"
#include "veche/comm/mpi/mpi.h"

namespace veche {
namespace {

class MpiCluster : public Cluster {
 public:
  explicit MpiCluster(std::shared_ptr<MpiBranch> branch) : branch_(std::move(branch)) {}

  std::vector<NodeId> here() const override {
    const Placement& placement = branch_->office.placement();
    std::vector<NodeId> nodes;
    for (int i = 0; i < placement.nodes_here(); ++i) nodes.push_back(NodeId{placement.first_here() + i});
    return nodes;
  }
  std::unique_ptr<Endpoint> endpoint(NodeId node) override { return make_mpi_endpoint(branch_, node); }
  void run(const std::function<void(NodeId)>& body) override {
    run_as_threads(here(), body, [this](NodeId node) -> NodeThreads& { return branch_->threads_of(node); });
  }

 private:
  std::shared_ptr<MpiBranch> branch_;
};

class MpiJob : public Job {
 public:
  MpiJob() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
      throw RequestError(
          "this MPI was built without MPI_THREAD_MULTIPLE, which Veche needs: use one with it");
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
    hosts_ = exchange(std::string(name.data(), static_cast<std::size_t>(length)));
    int socket = -1;
    const std::string where = exchange(rank_ == 0 ? Lifeline::listen(socket) : "").front();
    lifeline_.emplace(rank_, size_, socket, where, [this](int rank) { lose(rank); });
  }

  ~MpiJob() override {
    if (given_up_) MPI_Abort(MPI_COMM_WORLD, 1);
    lifeline_.reset();
    MPI_Comm_free(&comm_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_on_this_host() const override { return ranks_here_; }
  std::string host_of(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }

  void on_loss(std::function<void(const std::string&)> told) override {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
  }

  std::vector<std::string> exchange(const std::string& mine, Time limit = kForever) override {
    const auto ranks = static_cast<std::size_t>(size_);
    const int length = static_cast<int>(mine.size());
    std::vector<int> lengths(ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_, &request);
    wait(request, limit);
    std::vector<int> starts(ranks);
    for (std::size_t i = 1; i < ranks; ++i) starts[i] = starts[i - 1] + lengths[i - 1];
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_Iallgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, comm_,
                    &request);
    wait(request, limit);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < ranks; ++i)
      texts.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return texts;
  }

  std::unique_ptr<Cluster> cluster(int nodes, int slots) override {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(comm_, &comm);
    const Placement placement{nodes, size_, rank_};
    // The same everywhere: ranks must agree on how they wait in a collective.
    int crowded = std::max(1, placement.nodes_here()) * ranks_here_ > sysconf(_SC_NPROCESSORS_ONLN) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, comm_);
    return std::make_unique<MpiCluster>(
        std::make_shared<MpiBranch>(comm, placement, crowded != 0, given_up_, slots, ranks_here_));
  }

 private:
  void wait(MPI_Request& request, Time limit) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration_cast<Nap::Duration>(limit);
    Nap nap(ranks_here_ > sysconf(_SC_NPROCESSORS_ONLN));
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (std::chrono::steady_clock::now() > until) {
        given_up_ = true;
        throw RunError("not all ranks answer any more");
      }
      std::this_thread::sleep_for(nap.next());
    }
  }

  // By the lifeline's thread. The others may be anywhere, even inside MPI for ever: nothing is unwound. The
  // first of those left speaks, and then ends the job; the others give it the time.
  void lose(int rank) {
    if (rank_ == (rank == 0 ? 1 : 0)) {
      const std::lock_guard lock(mutex_);
      if (told_)
        told_("rank " + std::to_string(rank) + " on " + host_of(rank) +
              " is gone: its process was killed or crashed");
      std::this_thread::sleep_for(
          std::chrono::milliseconds(300));  // launchers drop what they have not read yet
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(5));
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int ranks_here_ = 1;
  std::vector<std::string> hosts_;
  std::atomic<bool> given_up_ = false;
  std::mutex mutex_;
  std::function<void(const std::string&)> told_;  // guarded by mutex_
  std::optional<Lifeline> lifeline_;
};

}  // namespace
}  // namespace veche

extern "C" veche::Job* veche_mpi_job() { return new veche::MpiJob; }
