// One rank of a job that fails in the way its argument names; failing_ranks_test.py starts it and
// checks the outcome. Every other wait here is far longer than a test waits.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "veche/comm/engine_collectives.h"
#include "veche/comm/mpi/launch.h"
#include "veche/comm/neighbourhood.h"
#include "veche/errors.h"
#include "veche/runtime/run/collective.h"

namespace veche {
namespace {

constexpr Time kLong{1000};
constexpr Tag kTag{5};

// A node of this rank and what it does.
struct Here {
  Job& job;
  std::unique_ptr<Cluster> cluster = job.cluster(job.size());
  std::unique_ptr<Endpoint> endpoint = cluster->endpoint(cluster->here().front());

  bool leads() const { return job.rank() == 0; }
  [[noreturn]] static void fail() { throw RequestError("the cause"); }
  // What ranks that cannot continue throw: the consequence.
  void give_up(NodeId peer) const { throw PeerLost(peer, "is missed"); }
  void sum(std::size_t floats) const {
    std::vector<float> data(floats, 1.0F);
    const auto outcome = endpoint->collectives()->all_reduce(kTag, data, kLong);
    if (outcome.outcome != Received::Outcome::message) give_up(outcome.missing);
  }
};

// No other rank comes to the first rank's sum.
void absent(Job& job, std::size_t floats) {
  Here here{job};
  if (!here.leads()) {
    here.give_up(here.endpoint->receive(NodeId{0}, kTag, kLong).from);
    return;
  }
  std::vector<float> data(floats, 1.0F);
  const Time start = here.endpoint->now();
  const auto outcome = here.endpoint->collectives()->all_reduce(kTag, data, start + Time(1));
  if (outcome.outcome != Received::Outcome::timed_out) throw RunError("it has an outcome of its own");
  if (here.endpoint->now() - start < Time(1)) throw RunError("it did not wait");
  if (data != std::vector<float>(floats, 1.0F)) throw RunError("data were changed");
  throw RunError("nobody came to the sum");
}

// One node a rank, run by the engine.
void run_nodes(Job& job, const std::function<void(Endpoint&)>& body) {
  Here here{job};
  here.cluster->run([&](NodeId) { body(*here.endpoint); });
}

const std::map<std::string, std::function<void(Job&)>>& ways() {
  static const std::map<std::string, std::function<void(Job&)>> all = {
      {"absent-from-small-sum", [](Job& job) { absent(job, 1000); }},
      {"absent-from-middle-sum", [](Job& job) { absent(job, 300'000); }},
      {"absent-from-large-sum", [](Job& job) { absent(job, 10'000'000); }},
      {"others-exchange",
       [](Job& job) {
         if (job.rank() == 0) Here::fail();
         job.exchange("something");
       }},
      {"others-make-a-cluster",
       [](Job& job) {
         if (job.rank() == 0) Here::fail();
         [[maybe_unused]] const Here here{job};
       }},
      {"others-exchange-as-it-closes",
       [](Job& job) {
         Here here{job};
         if (here.leads()) Here::fail();
         job.exchange("something");
       }},
      {"others-receive",
       [](Job& job) {
         Here here{job};
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         // From a node that is alive but silent.
         const NodeId other{job.size() - 1 - (here.endpoint->id().value == job.size() - 1 ? 1 : 0)};
         here.give_up(here.endpoint->receive(other, kTag, kLong).from);
       }},
      {"others-receive-from-anyone",
       [](Job& job) {
         Here here{job};
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         here.give_up(here.endpoint->receive({}, kTag, kLong).from);
       }},
      {"others-sum-little",
       [](Job& job) {
         Here here{job};
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         here.sum(1000);
       }},
      {"others-sum-much",
       [](Job& job) {
         Here here{job};
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         here.sum(300'000);
       }},
      {"others-have-begun-a-sum",
       [](Job& job) {
         Here here{job};
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         std::vector<float> data(1000);
         EngineCollectives& engine = *here.endpoint->collectives();
         engine.begin_all_reduce(kTag, data);
         here.give_up(engine.all_reduce(kTag, data, kLong).missing);
       }},
      {"others-exchange-with-neighbours",
       [](Job& job) {
         Here here{job};
         const std::vector<NodeId> next{NodeId{(job.rank() + 1) % job.size()}};
         const std::vector<NodeId> before{NodeId{(job.rank() + job.size() - 1) % job.size()}};
         const auto neighbours = here.endpoint->collectives()->neighbourhood(before, next, 100'000);
         if (here.leads()) run_collectively(&job, [] { Here::fail(); });
         here.give_up(neighbours->exchange(kLong).missing);
       }},
      {"helper-throws-beside-a-receive",
       [](Job& job) {
         run_nodes(job, [](Endpoint& endpoint) {
           if (endpoint.id() == NodeId{1}) endpoint.spawn([] { throw RunError("the cause"); });
           const NodeId next{(endpoint.id().value + 1) % endpoint.size()};
           const Received received = endpoint.receive(next, kTag, kLong);
           throw PeerLost(received.from, "is missed");
         });
       }},
      {"helper-throws-beside-a-sum",
       [](Job& job) {
         run_nodes(job, [](Endpoint& endpoint) {
           std::vector<float> data(1000);
           if (endpoint.id() == NodeId{1})
             endpoint.spawn([&endpoint] {
               endpoint.receive(endpoint.id(), kTag, endpoint.now() + Time(0.2));
               throw RunError("the cause");
             });
           else if (endpoint.id() == NodeId{2})
             endpoint.receive(NodeId{1}, kTag, kLong);  // and does not come to the sum
           const auto outcome = endpoint.collectives()->all_reduce(kTag, data, kLong);
           throw PeerLost(outcome.missing, "is missed");
         });
       }},
      {"one-hangs",
       [](Job& job) {
         if (job.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1000));
         Here::fail();
       }},
      {"one-stops-in-a-sum",
       [](Job& job) {
         job.on_loss([](const std::string& sentence) { std::cerr << "told: " << sentence << std::endl; });
         run_nodes(job, [](Endpoint& endpoint) {
           if (endpoint.id() == NodeId{1})
             endpoint.spawn([&endpoint] {
               endpoint.receive(endpoint.id(), kTag, endpoint.now() + Time(0.5));
               raise(SIGSTOP);
             });
           for (std::vector<float> data(8'000'000);;) {
             const auto outcome = endpoint.collectives()->all_reduce(kTag, data, endpoint.now() + Time(2));
             if (outcome.outcome != Received::Outcome::message) throw PeerLost(outcome.missing, "is missed");
           }
         });
       }},
      {"the-first-hangs",
       [](Job& job) {
         job.on_loss([](const std::string& sentence) { std::cerr << "told: " << sentence << std::endl; });
         if (job.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1000));
         if (job.rank() == 1) Here::fail();
         job.exchange("something");
       }},
      {"one-ends",
       [](Job& job) {
         job.exchange("something");
         if (job.rank() == 1) return;
         job.exchange("more");
         job.exchange("still more");
       }},
  };
  return all;
}

int run(const std::string& way) {
  const auto job = join_launched_job();
  if (!job) return 77;
  const auto& work = ways().at(way);
  try {
    if (way == "one-ends")
      work(*job);
    else
      run_collectively(job.get(), [&] { work(*job); });
    return 0;
  } catch (const std::exception& error) {
    const bool wrong = dynamic_cast<const RequestError*>(&error) != nullptr;
    std::cerr << fmt::format("rank {} ends: {}\n", job->rank(), error.what()) << std::flush;
    return wrong ? 2 : 1;
  }
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc == 2) return veche::run(argv[1]);
  for (const auto& [name, way] : veche::ways()) std::cout << name << '\n';
  return 0;
}
