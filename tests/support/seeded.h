#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/async_forms.h"
#include "tests/support/network.h"
#include "tests/support/problem.h"
#include "tests/support/tasks.h"
#include "tests/support/train.h"
#include "veche/comm/seeded/seeded.h"
#include "veche/runtime/registry.h"

namespace veche::testing {

// Number of seeds of every test that tries many; `make soak` sets SEEDS. A sanitizer takes ten
// times longer and, since one task runs at a time, finds little more in further orders.
inline std::uint64_t seeds() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr std::uint64_t kSeeds = 40;
#else
  constexpr std::uint64_t kSeeds = 200;
#endif
  const char* given = std::getenv("SEEDS");
  return given == nullptr ? kSeeds : std::stoull(given);
}

inline int nodes_for(std::uint64_t seed) {
  constexpr std::array kNodes{2, 3, 5};
  return kNodes[seed % kNodes.size()];
}

// No wait of a strategy is this long: a task that only a deadline would continue counts as stuck.
inline SeededOptions in_order_of(std::uint64_t seed) { return {.seed = seed, .stuck_after = Time(3)}; }

// Fits a variant to the number of nodes: there are no more servers than nodes.
inline std::string fitting(const std::string& assignment, int nodes) {
  return nodes == 2 && assignment == "strategy.servers=3" ? "strategy.servers=2" : assignment;
}

// What nodes learn: a function of each, a text or the rows of a table.
enum class Problem : std::uint8_t { quadratic, text, table };

// Problems take turns over the seeds, and over the numbers of nodes.
inline Problem problem_for(std::uint64_t seed) { return static_cast<Problem>((seed + seed / 3) % 3); }

inline Config seeded_problem(const Assignments& variant, int nodes, int steps,
                             Problem problem = Problem::quadratic) {
  Config config = quadratic_problem("none", nodes);
  if (problem != Problem::quadratic) {
    config = {};
    for (const std::string& assignment :
         assignments_of(problem == Problem::text ? Task::language : Task::regression))
      config.set(assignment);
    for (const char* assignment : {"optimizer.name=sgd", "optimizer.lr=0.05", "data.batch=4"})
      config.set(assignment);
    config.set("cluster.nodes=" + std::to_string(nodes));
  }
  config.set("run.steps=" + std::to_string(steps));
  config.set("data.workers=0");  // no threads but the engine's
  for (const std::string& assignment : variant) config.set(fitting(assignment, nodes));
  return config;
}

// Every strategy in lockstep, and further forms of some.
inline std::vector<Assignments> seeded_in_step_variants() {
  std::vector<Assignments> all;
  for (const StrategyInfo& info : strategies())
    if (info.name != "hogwild") all.push_back({"strategy.name=" + info.name});
  const std::vector<Assignments> forms = {
      {"strategy.name=parameter-server", "strategy.servers=2", "strategy.fanout=2"},
      {"strategy.name=parameter-server", "strategy.dedicated=true"},
      {"strategy.name=allreduce", "strategy.algorithm=ring"},
      {"strategy.name=allreduce", "strategy.algorithm=halving-doubling"},
      {"strategy.name=local-sgd", "strategy.period=3", "strategy.outer=nesterov"},
      {"strategy.name=local-sgd", "strategy.period=2", "strategy.elastic=0.2"},
      {"strategy.name=local-sgd", "strategy.period=2", "strategy.outer=adam"},
      {"strategy.name=local-sgd", "strategy.period=2", "strategy.outer=yogi"},
      {"strategy.name=local-sgd", "strategy.period=3", "strategy.correction=scaffold",
       "strategy.proximal=0.1"},
      {"strategy.name=local-sgd", "strategy.period=6", "strategy.fragments=3", "strategy.delay=1",
       "strategy.blend=0.5", "strategy.outer=nesterov"},
      {"strategy.name=local-sgd", "strategy.period=6", "strategy.fragments=2", "strategy.delay=2",
       "compress.codec=int8"},
      {"strategy.name=gossip", "strategy.outer=nesterov", "strategy.every=2"},
      {"strategy.name=allreduce", "optimizer.name=muon"},
      {"strategy.name=local-sgd", "strategy.period=3", "optimizer.name=muon"},
      {"strategy.name=consensus", "strategy.correction=gradient-tracking"},
      {"strategy.name=consensus", "strategy.correction=d2", "strategy.order=combine-then-adapt"},
      {"strategy.name=gossip", "strategy.draw=matching"},
      {"strategy.name=hierarchical", "strategy.between=gossip"},
      {"strategy.name=allreduce", "compress.codec=fp16"},
      {"strategy.name=allreduce", "compress.codec=topk:0.4", "strategy.algorithm=ring"},
      {"strategy.name=consensus", "compress.codec=sign"},
      {"strategy.name=gossip", "compress.codec=topk:0.4"},
      {"strategy.name=moshpit", "compress.codec=int8"},
      {"strategy.name=local-sgd", "strategy.period=3", "compress.codec=randomk:0.5"},
      {"strategy.name=parameter-server", "strategy.servers=2", "strategy.fanout=2", "compress.codec=qsgd:8"},
      {"strategy.name=hierarchical", "compress.codec=bf16"}};
  all.insert(all.end(), forms.begin(), forms.end());
  return all;
}

// Every asynchronous form. Hogwild has no shared memory here.
inline std::vector<Assignments> seeded_async_variants() {
  std::vector<Assignments> all = async_variants();
  std::erase(all, Assignments{"strategy.name=hogwild"});
  const std::vector<Assignments> forms = {
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.servers=2", "strategy.fanout=2"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.dedicated=true"},
      {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=3",
       "strategy.dedicated=true"},
      {"strategy.name=gossip", "strategy.async=true", "topology.graph=star", "strategy.every=2"},
      {"strategy.name=gossip", "strategy.async=true", "compress.codec=topk:0.4"},
      {"strategy.name=consensus", "strategy.async=true", "compress.codec=sign"},
      {"strategy.name=parameter-server", "strategy.update=async", "strategy.servers=2",
       "compress.codec=int8"},
      {"strategy.name=parameter-server", "strategy.backup=1", "compress.codec=fp16"},
      {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=3", "compress.codec=topk:0.4"}};
  all.insert(all.end(), forms.begin(), forms.end());
  return all;
}

// A run without a folder, on the seeded engine; with a faulty network if the seed says so.
inline TrainingRequest seeded_request(Settings settings, const SeededOptions& options) {
  TrainingRequest request;
  request.settings = std::move(settings);
  request.keep = false;
  if (options.seed % 4 == 3) request.network = unlucky();
  request.cluster = [options](int nodes) { return std::make_unique<SeededCluster>(nodes, options); };
  return request;
}

}  // namespace veche::testing
