#include "veche/comm/mpi/exchange.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace veche {
namespace {

constexpr std::uint64_t kRound = std::uint64_t{1} << 24;  // bytes of all ranks at a time: MPI counts with int

struct Buffers {
  std::string mine;
  std::uint64_t length = 0;
  std::vector<std::uint64_t> lengths;
  std::vector<int> counts;
  std::vector<int> starts;
  std::string round;
};

}  // namespace

std::optional<std::vector<std::string>> all_texts(MPI_Comm comm, const std::string& mine,
                                                  const std::function<bool(MPI_Request&)>& wait) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  const auto ranks = static_cast<std::size_t>(size);
  auto owner = std::make_unique<Buffers>();
  Buffers& b = *owner;
  const auto finish = [&](MPI_Request& request) {
    const bool done = wait(request);
    if (!done) static_cast<void>(owner.release());
    return done;
  };
  b.mine = mine;
  b.length = mine.size();
  b.lengths.resize(ranks);
  b.counts.resize(ranks);
  b.starts.resize(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&b.length, 1, MPI_UINT64_T, b.lengths.data(), 1, MPI_UINT64_T, comm, &request);
  if (!finish(request)) return {};

  std::vector<std::string> texts(ranks);
  const std::uint64_t longest = std::ranges::max(b.lengths);
  const std::uint64_t each = std::max<std::uint64_t>(1, kRound / ranks);
  for (std::uint64_t from = 0; from < longest; from += each) {
    int total = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      b.counts[i] = static_cast<int>(std::min(each, b.lengths[i] - std::min(from, b.lengths[i])));
      b.starts[i] = total;
      total += b.counts[i];
    }
    b.round.resize(static_cast<std::size_t>(total));
    MPI_Iallgatherv(b.mine.data() + std::min(from, b.length), b.counts[static_cast<std::size_t>(rank)],
                    MPI_CHAR, b.round.data(), b.counts.data(), b.starts.data(), MPI_CHAR, comm, &request);
    if (!finish(request)) return {};
    for (std::size_t i = 0; i < ranks; ++i)
      texts[i].append(b.round, static_cast<std::size_t>(b.starts[i]), static_cast<std::size_t>(b.counts[i]));
  }
  return texts;
}

}  // namespace veche
