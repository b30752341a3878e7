#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/config.h"

namespace veche {

// One of several configurations that are compared.
struct Variant {
  std::string name;                      // "local-sgd:8 ring"
  std::vector<std::string> assignments;  // for Config::set
};

// Every combination of the values in words such as "strategy=allreduce,local-sgd:8",
// "compress=none,fp16" and "section.key=a,b". Throws RequestError for another word, and where two
// variants would have the same folder.
std::vector<Variant> expand_variants(const std::vector<std::string>& words);

// Which runs a comparison consists of, with which settings and in which folders.
class ComparisonPlan {
 public:
  // Collective over the ranks of the job, which may be null: plans every variant, so that what is
  // wrong with any of them throws RequestError before the first one runs. `common` is what all runs
  // have in common.
  ComparisonPlan(Config common, const std::vector<std::string>& words, Job* job);

  const std::vector<Variant>& variants() const { return variants_; }
  // Of the first variant; its seed is the first one.
  const Settings& first() const { return first_; }
  // New, under run.out; all runs lie in it.
  const std::filesystem::path& folder() const { return folder_; }
  Settings settings(const Variant& variant, std::int64_t seed) const;

 private:
  Config config_of(const Variant& variant) const;

  const Config common_;
  const int ranks_;
  const std::vector<Variant> variants_;
  Settings first_;
  std::filesystem::path folder_;
};

// One run of a comparison.
struct ComparedRun {
  const Variant& variant;
  std::int64_t seed;
  Settings settings;
  // The run's time is virtual. A process has one virtual clock, which starts only once, so that
  // each such run needs a process of its own.
  bool needs_process;
};

struct ComparisonResult {
  nlohmann::ordered_json content;  // of compare.json, on rank 0
  // The folder of the run that was interrupted, which ends the comparison; compare.json is not
  // written then.
  std::optional<std::filesystem::path> interrupted = {};
};

// Collective over the ranks of the job, which may be null: makes `repeat` runs of every variant,
// one after the other, with successive seeds, and writes compare.json into the plan's folder.
// `run` makes one run and returns its summary.
ComparisonResult run_comparison(const ComparisonPlan& plan, int repeat, Job* job,
                                const std::function<nlohmann::ordered_json(const ComparedRun&)>& run);

}  // namespace veche
