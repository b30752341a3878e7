#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "veche/export.h"
#include "veche/options.h"
#include "veche/settings.h"

namespace veche {

// What a run is: every key checked and every default filled in.
struct VECHE_API Settings {
  RunSettings run;
  ModelSettings model;
  DataSettings data;
  OptimizerSettings optimizer;
  ClusterSettings cluster;
  TopologySettings topology;
  StrategySettings strategy;
  CompressSettings compress;
  PipelineSettings pipeline;
  NetworkSettings network;
  GridSettings grid;
  bool brings_data = false;  // the learner needs no data set
  // The sections as they were given, completed with defaults: to_toml repeats how a value was
  // written.
  std::map<std::string, Options, std::less<>> written;

  int nodes() const { return cluster.nodes; }
  // The stages of one replica of the model, each on its own node.
  int stages() const { return pipeline.stages; }
  int replicas() const { return nodes() / stages(); }
  bool is_cut() const { return stages() > 1 || pipeline.micro_batches > 1; }
  bool is_simulated() const { return cluster.transport == Transport::simulated; }  // in virtual time
  std::uint64_t seed() const { return static_cast<std::uint64_t>(run.seed); }
  // A configuration file that repeats the run.
  std::string to_toml() const;
};

// Configuration as given: a file, then single keys on top. Nothing is checked before `resolve`, so
// the order in which keys are given does not matter. All errors are RequestErrors: one sentence
// naming the key and the nearest valid choice.
class VECHE_API Config {
 public:
  static Config from_file(const std::filesystem::path& file);
  static Config from_text(std::string_view toml, const std::string& origin = "the configuration");

  // "section.key=value"; the value as in TOML, or a word that needs no quotes.
  void set(std::string_view assignment);
  void set(std::string_view section, std::string_view key, Value value);
  bool has(std::string_view section, std::string_view key) const;
  // The keys that were given, by section.
  using Section = std::map<std::string, Value, std::less<>>;
  const std::map<std::string, Section, std::less<>>& given() const { return sections_; }
  // The number of nodes if neither cluster.nodes nor another key gives it.
  void prefer_nodes(int nodes) { preferred_nodes_ = nodes; }

  // Checks every key and fills in the defaults. Run does it for you.
  Settings resolve() const;

 private:
  std::map<std::string, Section, std::less<>> sections_;
  std::optional<std::int64_t> preferred_nodes_;
};

}  // namespace veche
