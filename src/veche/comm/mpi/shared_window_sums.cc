#include "veche/comm/mpi/shared_window_sums.h"

#include <algorithm>
#include <new>
#include <utility>

#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kPartFloats = std::size_t{1} << 15;
constexpr std::size_t kLine = 64;  // bytes
// Medium lengths in floats: see is_best_for.
constexpr std::size_t kMiddleFrom = std::size_t{1} << 16;
constexpr std::size_t kMiddleTo = std::size_t{1} << 23;

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

// Layout of the shared memory: the state of the sum, the nodes' arrivals, the sum, and every node's
// vector.
struct SharedWindowSums::Layout {
  std::byte* start = nullptr;
  std::size_t nodes = 0;

  std::size_t came_at() const { return whole_lines(sizeof(SharedMemorySum::State)); }
  std::size_t part_at(std::size_t k) const {
    return came_at() + whole_lines(nodes * sizeof(std::uint64_t)) + k * kPartFloats * sizeof(float);
  }
  // One line more: MPI may give memory that does not begin with a line.
  std::size_t bytes() const { return part_at(nodes + 1) + kLine; }
  // Pages are at multiples of a line in every process, so all find the same place.
  void begin_in(void* memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    start = static_cast<std::byte*>(memory) + (whole_lines(address) - address);
  }

  SharedMemorySum::State& state() const {
    return *std::launder(reinterpret_cast<SharedMemorySum::State*>(start));
  }
  std::span<std::atomic<std::uint64_t>> came() const {
    return {std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(start + came_at())), nodes};
  }
  std::span<float> part(std::size_t k) const {
    return {std::launder(reinterpret_cast<float*>(start + part_at(k))), kPartFloats};
  }
  void make() const {
    new (start) SharedMemorySum::State{};
    for (std::size_t i = 0; i < nodes; ++i)
      new (start + came_at() + i * sizeof(std::uint64_t)) std::atomic<std::uint64_t>(0);
  }
};

class SharedWindowSums::Part : public SharedMemorySum::Work {
 public:
  Part(const SharedWindowSums& sums, Node& node) : sums_(sums), node_(node) {}

  void add_up(std::size_t from, std::size_t to) override {
    for (std::size_t i = 0; i < node_.parts.size(); ++i)
      node_.parts[i] = sums_.slots_[i].subspan(from, to - from);
    veche::sum(sums_.total_.subspan(from, to - from), node_.parts);
  }

  std::optional<NodeId> first_lost() const override { return sums_.progress_engine_.first_lost(); }
  bool between_processes() const override { return true; }

 private:
  const SharedWindowSums& sums_;
  Node& node_;
};

std::unique_ptr<SharedWindowSums> SharedWindowSums::make(const ProgressEngine& progress_engine,
                                                         MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int ranks_here = 0;
  MPI_Comm_size(host, &ranks_here);
  int possible = ranks_here == progress_engine.placement().ranks ? 1 : 0;
  Layout layout;
  layout.nodes = static_cast<std::size_t>(progress_engine.placement().nodes);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);  // lack of shared memory is not fatal
  MPI_Aint size = progress_engine.placement().rank == 0 ? static_cast<MPI_Aint>(layout.bytes()) : 0;
  void* own = nullptr;
  if (possible != 0 &&
      MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, host, static_cast<void*>(&own), &window) != MPI_SUCCESS)
    possible = 0;
  MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, comm);
  MPI_Comm_free(&host);
  if (possible == 0) return nullptr;
  int unit = 1;
  void* start = nullptr;
  MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&start));
  layout.begin_in(start);
  if (progress_engine.placement().rank == 0) layout.make();
  MPI_Barrier(comm);
  return std::unique_ptr<SharedWindowSums>(new SharedWindowSums(progress_engine, window, layout));
}

SharedWindowSums::SharedWindowSums(const ProgressEngine& progress_engine, MPI_Win window,
                                   const Layout& layout)
    : progress_engine_(progress_engine),
      first_here_(progress_engine.placement().first_here()),
      window_(window),
      nodes_(static_cast<std::size_t>(progress_engine.placement().nodes_here())),
      total_(layout.part(0)),
      shared_sum_(layout.state(), layout.came()) {
  for (Node& node : nodes_) node.parts.resize(layout.nodes);
  for (std::size_t i = 0; i < layout.nodes; ++i) slots_.push_back(layout.part(i + 1));
}

bool SharedWindowSums::is_best_for(std::size_t floats) const {
  return progress_engine_.oversubscribed() || floats < kMiddleFrom || floats > kMiddleTo;
}

std::optional<SharedMemorySum::Missing> SharedWindowSums::sum(NodeId node, std::span<float> data,
                                                              SharedMemorySum::Clock::time_point deadline) {
  const std::span<float> slot = slots_[static_cast<std::size_t>(node.value)];
  for (std::size_t from = 0; from < data.size(); from += kPartFloats) {
    const std::span<float> part = data.subspan(from, std::min(kPartFloats, data.size() - from));
    std::ranges::copy(part, slot.begin());
    Part work(*this, local(node));
    if (auto missing = shared_sum_.run(node, local(node).state, part.size(), deadline, work)) return missing;
    std::ranges::copy(total_.first(part.size()), part.begin());
  }
  return {};
}

SharedMemorySum::Clock::duration SharedWindowSums::take_slept(NodeId node) {
  return std::exchange(local(node).state.slept, SharedMemorySum::Clock::duration{0});
}

SharedWindowSums::Node& SharedWindowSums::local(NodeId node) {
  return nodes_[static_cast<std::size_t>(node.value - first_here_)];
}

}  // namespace veche
