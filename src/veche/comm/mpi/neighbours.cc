#include "veche/comm/mpi/neighbours.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "veche/comm/mpi/backoff.h"

namespace veche {
namespace {

using Clock = std::chrono::steady_clock;

// Messages of a node that is gone may still be in transit.
constexpr std::chrono::seconds kPartOnItsWay{1};

class MpiNeighbourhood : public Neighbourhood {
 public:
  explicit MpiNeighbourhood(NeighbourTerms terms) : terms_(std::move(terms)), mine_(terms_.length) {}
  ~MpiNeighbourhood() override {
    if (broken_) leave_behind(std::move(mine_));
  }

  std::span<float> mine() override { return mine_; }

 protected:
  using Outcome = EngineCollectives::Outcome;

  int count() const { return static_cast<int>(terms_.length); }

  // Waiting takes no core, has a deadline, and notices losses. Requests are then abandoned with
  // their memory: the job ends.
  Outcome wait(std::vector<MPI_Request>& requests, Time deadline) {
    const auto start = Clock::now();
    auto until = terms_.origin + std::chrono::duration_cast<Clock::duration>(deadline);
    Outcome outcome;
    int missing = -1;
    Backoff backoff(terms_.oversubscribed);
    for (int done = 0;;) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) {
        outcome.outcome = Received::Outcome::message;
        outcome.sent = {terms_.readers.size() * terms_.length * sizeof(float), terms_.readers.size()};
        break;
      }
      const bool nobody_lost = missing < 0;
      if (nobody_lost && terms_.lost) missing = terms_.lost();
      if (nobody_lost && missing >= 0) {
        outcome.outcome = Received::Outcome::peer_lost;
        until = std::min(until, Clock::now() + kPartOnItsWay);
      }
      if (Clock::now() >= until) {
        if (missing < 0) missing = (terms_.sources.empty() ? terms_.readers : terms_.sources).front();
        outcome.missing = NodeId{missing};
        give_up();
        break;
      }
      if (const auto length = backoff.next(); length > Backoff::Duration::zero())
        std::this_thread::sleep_for(length);
    }
    outcome.waited = Clock::now() - start;
    return outcome;
  }

  void give_up() {
    broken_ = true;
    if (terms_.job != nullptr) terms_.job->given_up = true;
  }

  const NeighbourTerms terms_;
  std::vector<float> mine_;
  bool broken_ = false;  // requests may never complete
};

class Persistent : public MpiNeighbourhood {
 public:
  explicit Persistent(NeighbourTerms terms) : MpiNeighbourhood(std::move(terms)) {
    for (Set& set : sets_)
      for (const int source : terms_.sources) {
        set.received.emplace_back(terms_.length);
        MPI_Recv_init(set.received.back().data(), count(), MPI_FLOAT, source, terms_.tag, terms_.comm,
                      &set.requests.emplace_back());
      }
    for (const int reader : terms_.readers)
      MPI_Send_init(mine_.data(), count(), MPI_FLOAT, reader, terms_.tag, terms_.comm,
                    &sending_.emplace_back());
    start(sets_[next_].requests);
  }

  ~Persistent() override {
    if (!broken_) cancel(sets_[next_].requests);
    if (broken_) {
      leave_behind(std::move(sets_));
      return;
    }
    for (std::vector<MPI_Request>* requests : {&sets_[0].requests, &sets_[1].requests, &sending_})
      for (MPI_Request& request : *requests) MPI_Request_free(&request);
  }

  Outcome exchange(Time deadline) override {
    start(sending_);
    Outcome received = wait(sets_[next_].requests, deadline);
    if (received.outcome != Received::Outcome::message) return received;
    const Outcome sent = wait(sending_, deadline);
    if (sent.outcome != Received::Outcome::message) return sent;
    received.waited += sent.waited;
    // Neighbours may be a round ahead: their next message is received too.
    next_ = 1 - next_;
    start(sets_[next_].requests);
    return received;
  }

  std::span<const float> from(std::size_t source) const override { return sets_[1 - next_].received[source]; }

 private:
  struct Set {
    std::vector<std::vector<float>> received;
    std::vector<MPI_Request> requests;
  };

  // Lets started transfers complete.
  void cancel(std::vector<MPI_Request>& requests) {
    for (MPI_Request& request : requests) MPI_Cancel(&request);
    const Time now = Clock::now() - terms_.origin;
    wait(requests, now + kPartOnItsWay);
  }

  static void start(std::vector<MPI_Request>& requests) {
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
  }

  std::array<Set, 2> sets_;
  std::size_t next_ = 0;  // the set being received
  std::vector<MPI_Request> sending_;
};

class Collective : public MpiNeighbourhood {
 public:
  explicit Collective(NeighbourTerms terms)
      : MpiNeighbourhood(std::move(terms)), received_(terms_.sources.size() * terms_.length) {
    MPI_Dist_graph_create_adjacent(terms_.comm, static_cast<int>(terms_.sources.size()),
                                   terms_.sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(terms_.readers.size()), terms_.readers.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  ~Collective() override {
    if (broken_)
      leave_behind(std::move(received_));
    else
      MPI_Comm_free(&graph_);
  }

  Outcome exchange(Time deadline) override {
    std::vector<MPI_Request> request(1);
    MPI_Ineighbor_allgather(mine_.data(), count(), MPI_FLOAT, received_.data(), count(), MPI_FLOAT, graph_,
                            request.data());
    return wait(request, deadline);
  }
  std::span<const float> from(std::size_t source) const override {
    return std::span(received_).subspan(source * terms_.length, terms_.length);
  }

 private:
  std::vector<float> received_;
  MPI_Comm graph_ = MPI_COMM_NULL;
};

class Plain : public MpiNeighbourhood {
 public:
  explicit Plain(NeighbourTerms terms)
      : MpiNeighbourhood(std::move(terms)), received_(terms_.sources.size() * terms_.length) {}
  ~Plain() override {
    if (broken_) leave_behind(std::move(received_));
  }

  Outcome exchange(Time deadline) override {
    std::vector<MPI_Request> requests;
    for (std::size_t i = 0; i < terms_.sources.size(); ++i)
      MPI_Irecv(received_.data() + i * terms_.length, count(), MPI_FLOAT, terms_.sources[i], terms_.tag,
                terms_.comm, &requests.emplace_back());
    for (const int reader : terms_.readers)
      MPI_Isend(mine_.data(), count(), MPI_FLOAT, reader, terms_.tag, terms_.comm, &requests.emplace_back());
    return wait(requests, deadline);
  }
  std::span<const float> from(std::size_t source) const override {
    return std::span(received_).subspan(source * terms_.length, terms_.length);
  }

 private:
  std::vector<float> received_;
};

}  // namespace

MpiNeighbours::MpiNeighbours(ProgressEngine& progress_engine) : progress_engine_(progress_engine) {
  MPI_Comm_dup(progress_engine.comm(), &comm_);
}

MpiNeighbours::~MpiNeighbours() { MPI_Comm_free(&comm_); }

std::unique_ptr<Neighbourhood> MpiNeighbours::make(std::span<const NodeId> sources,
                                                   std::span<const NodeId> readers, std::size_t length,
                                                   Clock::time_point origin) {
  NeighbourTerms terms{.comm = comm_,
                       .length = length,
                       .tag = made_++,
                       .oversubscribed = progress_engine_.oversubscribed(),
                       .origin = origin,
                       .job = &progress_engine_.job()};
  for (const NodeId source : sources) terms.sources.push_back(source.value);
  for (const NodeId reader : readers) terms.readers.push_back(reader.value);
  std::vector<int> all = terms.sources;
  all.insert(all.end(), terms.readers.begin(), terms.readers.end());
  all.push_back(progress_engine_.placement().first_here());  // one of its own helpers may have failed
  terms.lost = [this, all] {
    const auto lost =
        std::ranges::find_if(all, [&](int node) { return !progress_engine_.alive(NodeId{node}); });
    return lost != all.end() ? *lost : progress_engine_.job().failed.load();
  };
  return persistent_neighbourhood(std::move(terms));
}

std::unique_ptr<Neighbourhood> persistent_neighbourhood(NeighbourTerms terms) {
  return std::make_unique<Persistent>(std::move(terms));
}
std::unique_ptr<Neighbourhood> collective_neighbourhood(NeighbourTerms terms) {
  return std::make_unique<Collective>(std::move(terms));
}
std::unique_ptr<Neighbourhood> plain_neighbourhood(NeighbourTerms terms) {
  return std::make_unique<Plain>(std::move(terms));
}

}  // namespace veche
