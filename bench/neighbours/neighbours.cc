#include "bench/neighbours/neighbours.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "bench/cluster/program.h"
#include "bench/rounds.h"
#include "veche/comm/neighbourhood.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

struct Size {
  const char* name;
  std::size_t bytes;
  int repeats;  // per measurement
};

// One rank's side: its endpoint for messages, and a neighbourhood for each MPI method.
class Ranks {
 public:
  Ranks(Job& job, const Mixing& mixing, MakeMpiNeighbourhood& make, std::size_t length)
      : cluster_(job.cluster(job.size())),
        endpoint_(cluster_->endpoint(cluster_->here().front())),
        length_(length) {
    const int me = endpoint_->id().value;
    for (const Weight& weight : mixing.row(me))
      if (weight.node != me) sources_.push_back(weight.node);
    readers_.assign(mixing.readers(me).begin(), mixing.readers(me).end());
    for (const MpiWay way : {MpiWay::persistent, MpiWay::plain, MpiWay::collective})
      ways_.emplace_back(make(way, sources_, readers_, length));
  }

  static constexpr std::size_t kMessages = 3;  // after the MPI methods
  static std::string name(std::size_t way) {
    return std::array{"persistent requests", "MPI_Isend and MPI_Irecv", "MPI_Ineighbor_allgather",
                      "messages of the post progress_engine"}[way];
  }

  void exchange(std::size_t way) {
    if (way == kMessages) return by_messages();
    if (ways_[way]->exchange(Time(600)).outcome != Received::Outcome::message)
      throw RunError("bench neighbours: a rank is gone");
  }

  void verify(std::size_t way) {
    const auto value = [](int node, std::size_t i) {
      return static_cast<float>(node * 1000 + static_cast<int>(i % 97));
    };
    const int me = endpoint_->id().value;
    if (way == kMessages) return;  // messages are checked by their length each time
    for (std::size_t i = 0; i < length_; ++i) ways_[way]->mine()[i] = value(me, i);
    exchange(way);
    for (std::size_t s = 0; s < sources_.size(); ++s)
      for (std::size_t i = 0; i < length_; ++i)
        if (ways_[way]->from(s)[i] != value(sources_[s], i))
          throw RunError("bench neighbours: received data differ from the sent data");
  }

 private:
  // As a strategy does it: keeps messages until all have arrived.
  void by_messages() {
    if (!mine_) {
      mine_ = pool_.make(length_ * sizeof(float));
      std::ranges::fill(mine_->writable<float>(), 1.0F);
    }
    for (const int reader : readers_) channel_.send(NodeId{reader}, *mine_);
    for (const int source : sources_) {
      received_.push_back(channel_.expect(NodeId{source}));
      if (received_.back().size() != length_ * sizeof(float))
        throw RunError("bench neighbours: a message has another length");
    }
    received_.clear();
  }

  const std::unique_ptr<Cluster> cluster_;
  const std::unique_ptr<Endpoint> endpoint_;
  const std::size_t length_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel channel_{*endpoint_, pool_, timeout_, Tag{1}};
  std::optional<Message> mine_;
  std::vector<Message> received_;
  std::vector<int> sources_, readers_;
  std::vector<std::unique_ptr<Neighbourhood>> ways_;
};

}  // namespace

std::vector<BenchCase> measure_neighbours(Job& job, MakeMpiNeighbourhood& make, MpiPlainSum& plain_sum,
                                          const BenchOptions& options) {
  const int n = job.size();
  std::vector<Size> sizes = {{"1 KB", 1 << 10, 200}, {"64 KB", 1 << 16, 60}};
  if (!options.quick) sizes.push_back({"6 MB", 6 << 20, 3});
  constexpr int kAttempts = 3;  // the best of them counts: some are undisturbed by other programs
  std::vector<BenchCase> cases;
  std::vector<std::string> graphs = {"ring", "erdos-renyi:" + std::to_string(n) + ":0.6@3"};
  if (n == 8) graphs.insert(graphs.begin() + 1, "hypercube:3");
  for (const std::string& graph : graphs) {
    const auto topology = make_topology({.graph = graph, .weights = "metropolis", .nodes = n});
    for (const Size& size : sizes) {
      Ranks ranks(job, *topology->at(0), make, size.bytes / sizeof(float));
      // Exchanges per second, after a barrier.
      const auto rate = [&](std::size_t way) {
        ranks.exchange(way);
        float nothing = 0;
        plain_sum(&nothing, 1);
        const auto start = Clock::now();
        for (int k = 0; k < size.repeats; ++k) ranks.exchange(way);
        plain_sum(&nothing, 1);
        return size.repeats / std::chrono::duration<double>(Clock::now() - start).count();
      };
      for (std::size_t way = 0; way < Ranks::kMessages; ++way) ranks.verify(way);
      Rounds rounds(Ranks::kMessages);
      for (int round = 0; round < (options.quick ? 1 : options.rounds); ++round) {
        std::array<double, Ranks::kMessages + 1> best{};
        for (int attempt = 0; attempt < kAttempts; ++attempt)
          for (std::size_t way = 0; way < best.size(); ++way) best[way] = std::max(best[way], rate(way));
        rounds.ours(best[0]);
        for (std::size_t peer = 0; peer < Ranks::kMessages; ++peer) rounds.theirs(peer, best[peer + 1]);
      }
      for (std::size_t peer = 0; peer < Ranks::kMessages; ++peer)
        cases.push_back(rounds.result(
            peer, graph.substr(0, graph.find(':')) + ", " + std::to_string(n) + " ranks, " + size.name, "1/s",
            Ranks::name(peer + 1)));
    }
  }
  return cases;
}

std::vector<BenchCase> bench_neighbours(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const int ranks : {4, 8}) {
    std::vector<std::string> words = mpirun(ranks);
    words.insert(words.end(), {own_path(), "bench", "neighbours", "--transport", "mpi", "--json", "--rounds",
                               std::to_string(options.rounds)});
    if (options.quick) words.emplace_back("--quick");
    const nlohmann::json answer = run_program(words);
    for (const auto& row : answer["cases"])
      cases.push_back({row["name"], row["value"], row["unit"], row["peer"], row["peer_value"], row["ratio"],
                       row["spread"], row["rounds"]});
  }
  return cases;
}

}  // namespace veche
