#include <mpi.h>
#include <unistd.h>

#include <algorithm>

#include "veche/base/module_api.h"
#include "veche/base/thread/mutex.h"
#include "veche/comm/mpi/endpoint.h"
#include "veche/comm/mpi/mpi.h"
#include "veche/comm/mpi/ranks.h"
#include "veche/errors.h"

namespace veche {
namespace {

class MpiCluster : public Cluster {
 public:
  explicit MpiCluster(std::shared_ptr<MpiShared> shared) : shared_(std::move(shared)) {}

  std::vector<NodeId> here() const override {
    const Placement& placement = shared_->progress_engine.placement();
    std::vector<NodeId> nodes;
    for (int i = 0; i < placement.nodes_here(); ++i) nodes.push_back(NodeId{placement.first_here() + i});
    return nodes;
  }
  std::unique_ptr<Endpoint> endpoint(NodeId node) override { return make_mpi_endpoint(shared_, node); }
  void run(const std::function<void(NodeId)>& body) override {
    run_as_threads(here(), body, [this](NodeId node) -> NodeThreads& { return shared_->threads_of(node); });
  }

 private:
  std::shared_ptr<MpiShared> shared_;
};

// Shared state of nodes that have all ended here. It is closed when all ranks are certain to come:
// a failed rank must not wait for the others.
class Unused {
 public:
  void add(std::unique_ptr<MpiShared> shared) {
    for (NodeThreads& threads : shared->threads) threads.end();
    const MutexLock lock(mutex_);
    unused_.push_back(std::move(shared));
  }
  // Collective, with the same `keep` on all ranks: whether MPI may still write to it.
  void close(bool keep) {
    const MutexLock lock(mutex_);
    if (keep) leave_behind(std::move(unused_));
    unused_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<MpiShared>> unused_ VECHE_GUARDED_BY(mutex_);
};

class MpiJob : public Job {
 public:
  MpiJob() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
      throw RequestError(
          "this MPI was built without MPI_THREAD_MULTIPLE, which Veche needs: use one with it");
    ranks_.emplace();
  }

  ~MpiJob() override {
    if (!ranks_->all_end_well()) ranks_->end_job();
    unused_->close(false);
    ranks_.reset();
    MPI_Finalize();
  }

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  int ranks_on_this_host() const override { return ranks_->ranks_here(); }
  std::string host_of(int rank) const override { return ranks_->host_of(rank); }

  void on_loss(std::function<void(const std::string&)> report) override {
    ranks_->on_loss(std::move(report));
  }
  std::vector<std::string> exchange(const std::string& mine, Time limit = kForever) override {
    return ranks_->exchange(mine, limit);
  }
  void fail(const std::exception& why) override { ranks_->fail(why); }

  std::unique_ptr<Cluster> cluster(int nodes, int slots) override {
    // The following call waits inside MPI, which no rank may enter after a failure.
    const std::vector<std::string> given_up = exchange(ranks_->state().given_up ? "gave up" : "");
    unused_->close(std::ranges::any_of(given_up, [](const std::string& word) { return !word.empty(); }));
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(ranks_->comm(), &comm);
    const Placement placement{nodes, size(), rank()};
    // Equal on all ranks: they must agree on how they wait in a collective.
    int oversubscribed = static_cast<long>(std::max(1, placement.nodes_here())) * ranks_->ranks_here() >
                                 sysconf(_SC_NPROCESSORS_ONLN)
                             ? 1
                             : 0;
    MPI_Allreduce(MPI_IN_PLACE, &oversubscribed, 1, MPI_INT, MPI_MAX, ranks_->comm());
    const auto later = [unused = unused_](MpiShared* shared) {
      unused->add(std::unique_ptr<MpiShared>(shared));
    };
    return std::make_unique<MpiCluster>(std::shared_ptr<MpiShared>(
        new MpiShared(comm, placement, oversubscribed != 0, ranks_->state(), slots, ranks_->ranks_here()),
        later));
  }

 private:
  std::optional<MpiRanks> ranks_;
  const std::shared_ptr<Unused> unused_ = std::make_shared<Unused>();
};

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API veche::Job* veche_mpi_job() { return new veche::MpiJob; }
