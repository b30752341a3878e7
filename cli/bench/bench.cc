#include "bench/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/allreduce/allreduce.h"
#include "bench/cluster/ddp.h"
#include "bench/cluster/grid.h"
#include "bench/cluster/network.h"
#include "bench/cluster/ranks.h"
#include "bench/cluster/slow_network.h"
#include "bench/compress/compress.h"
#include "bench/evaluate/evaluate.h"
#include "bench/load/load.h"
#include "bench/mix/mix.h"
#include "bench/neighbours/neighbours.h"
#include "bench/pipeline/pipeline.h"
#include "bench/python/python.h"
#include "bench/serve/serve.h"
#include "bench/simulate/reality.h"
#include "bench/simulate/simulate.h"
#include "bench/step/step.h"
#include "bench/table/table.h"
#include "bench/text/text.h"
#include "bench/topology/limits.h"
#include "bench/train/agree.h"
#include "bench/train/crowd.h"
#include "bench/watch/watch.h"
#include "cli/bench/bench_record.h"
#include "cli/commands.h"
#include "cli/process/isa.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/instruction_set.h"
#include "veche/base/text/nearest.h"
#include "veche/comm/mpi/launch.h"
#include "veche/errors.h"
#include "veche/runtime/run/collective.h"

namespace veche::cli {
namespace {

struct Bench {
  std::string name;
  std::string what;
  std::function<std::vector<BenchCase>(const BenchOptions&)> run;
  bool only_by_name = false;  // too long to run by default
};

std::vector<BenchCase> measure_without_job(const BenchOptions& /*options*/) {
  throw RequestError(
      "`veche bench network` measures between ranks: mpirun -np 2 veche bench network, a rank a host");
}

std::vector<Bench> benches() {
  return {
      {"step", "one training step beside PyTorch's", bench_step},
      {"threads", "the same with all cores for one batch", bench_threads},
      {"text", "language models: training and generation beside PyTorch's", bench_text},
      {"evaluate", "testing a network beside PyTorch's", bench_evaluate},
      {"mix", "the fused weighted sum beside the memory's speed", bench_mix},
      {"compress", "codecs beside copying and PyTorch's", bench_compress},
      {"load", "from packed files to batches, beside a folder and PyTorch's DataLoader", bench_load},
      {"table", "from CSV files to rows of numbers, beside limits and an mlp", bench_table},
      {"agree", "what consensus after every step costs", bench_agree},
      {"serve", "a model over HTTP beside the model alone", bench_serve},
      {"watch", "a run with four viewers of its live page beside one with none", bench_watch},
      {"topology", "whole commands `veche topology` beside their limits", bench_topology},
      {"allreduce", "sums between threads beside copying, and beside no strategy", bench_allreduce},
      {"neighbours", "consensus between ranks: ways to exchange with neighbours", bench_neighbours},
      {"ddp", "two ranks under mpirun beside PyTorch DDP", bench_ddp},
      {"python", "loops in Python beside PyTorch DDP, exchanges and strategies beside C++", bench_python},
      {"python-hosts", "a loop in Python on four hosts at 100 Mbit/s beside PyTorch DDP; minutes, needs root",
       bench_python_hosts, true},
      {"grid", "two members of a grid, over TLS, beside two ranks under mpirun", bench_grid},
      {"grid-slow", "four members of a grid at 100 Mbit/s beside four ranks; minutes, needs root",
       bench_grid_slow, true},
      {"pipeline", "resnet50 in two stages on two ranks beside two cores and PyTorch; the memory of stages",
       bench_pipeline},
      {"slow-network", "four hosts at 100 Mbit/s beside PyTorch DDP; minutes, needs root", bench_slow_network,
       true},
      {"simulate", "thousands of nodes in virtual time beside their limits, and beside threads",
       bench_simulate, true},
      {"reality", "what simulations predict beside four hosts at 100 and 10 Mbit/s; minutes, needs root",
       bench_reality, true},
      {"network", "latency and bandwidth between the ranks of an MPI job, as a section [network]",
       measure_without_job, true},
      {"crowd", "36 and 1,000 nodes on few cores beside 4, their memory and their start", bench_crowd},
      {"crowd-large", "3,000 and 10,000 nodes on few cores; minutes, 18 GiB of memory", bench_crowd_large,
       true},
  };
}

struct BenchArguments {
  std::string name;
  bool json = false;
  std::string isa;
  std::string record;
  BenchOptions options;
};

std::string promise(const BenchCase& c) {
  if (c.required == 0) return "";
  const std::string word = verdict(c);
  return fmt::format("{:.2f}x {}", c.required,
                     word == "unsure"   ? "? the spread is too large"
                     : word == "missed" ? "MISSED"
                                        : word);
}

void print_table(const std::vector<BenchCase>& cases) {
  Table table({"case", "Veche", "peer", "", "unit", "ratio", "spread", "promised"});
  for (const BenchCase& c : cases)
    table.row({c.name, fmt::format("{:.4g}", c.value), c.peer, fmt::format("{:.4g}", c.peer_value), c.unit,
               fmt::format("{:.2f}x", c.ratio), fmt::format("{:.1f} %", 100 * c.spread), promise(c)});
  answer("{}", table.text());
}

void print_json(const std::vector<BenchCase>& cases) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const BenchCase& result : cases) rows.push_back(to_json(result));
  answer_json(nlohmann::ordered_json{{"instruction_set", instruction_set()}, {"cases", rows}});
}

// The usual place of CIFAR-10; empty if it is not there.
std::string usual_cifar10() {
  for (const char* path : {"data/cifar10", "data/cifar10-jpeg.tar.zst"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

void bench_network(Job& job, bool json) {
  std::string section;
  run_collectively(&job, [&] { section = measured_network(job); });
  if (job.rank() != 0) return;
  if (json)
    answer_json(nlohmann::ordered_json{{"section", section}});
  else
    answer_text(section);
}

void bench(BenchArguments arguments) {
  if (std::isnan(arguments.options.target)) throw RequestError("--target is a percentage, not nan");
  if (const auto launch = mpi_launch();
      launch && (arguments.options.transport == "mpi" || arguments.name == "network")) {
    const auto job = join_mpi_job(*launch);
    if (arguments.name == "network") return bench_network(*job, arguments.json);
    MpiPlainSum& sum = *mpi_plain_sum(launch->kind);
    std::vector<BenchCase> cases;
    run_collectively(job.get(), [&] {
      cases = arguments.name == "neighbours"
                  ? measure_neighbours(*job, *mpi_neighbourhoods(launch->kind), sum, arguments.options)
                  : measure_ranks(*job, sum, arguments.options);
    });
    if (job->rank() != 0) return;
    print_json(cases);
    if (!arguments.record.empty()) {
      BenchRecord record(arguments.record);
      for (const BenchCase& result : cases) record.add(arguments.name, result);
      record.write(arguments.options.quick);
    }
    return;
  }
  if (arguments.options.data.empty()) arguments.options.data = usual_cifar10();
  arguments.options.tell = [](const std::string& sentence) { tell("{}\n", sentence); };
  const std::vector<std::string> names = bench_names();
  if (std::ranges::find(names, arguments.name) == names.end())
    throw RequestError("there is no bench '" + arguments.name + "'" + suggestion(arguments.name, names));
  if (!arguments.isa.empty()) limit_instructions(arguments.isa, "--isa");
  std::optional<BenchRecord> record;
  if (!arguments.record.empty()) record.emplace(arguments.record);
  tell("instruction set: {}\n", instruction_set());
  std::vector<BenchCase> cases;
  for (const Bench& bench : benches()) {
    if (arguments.name == "all" ? bench.only_by_name : arguments.name != bench.name) continue;
    tell("{}: {} ...\n", bench.name, bench.what);
    for (BenchCase& result : bench.run(arguments.options)) {
      if (record) record->add(bench.name, result);
      cases.push_back(std::move(result));
    }
  }
  if (cases.empty())
    throw RequestError("--only: bench " + arguments.name + " has no case with '" + arguments.options.only +
                       "' in its name");
  if (arguments.json)
    print_json(cases);
  else
    print_table(cases);
  if (record) record->write(arguments.options.quick);
}

}  // namespace

std::vector<std::string> bench_names() {
  std::vector<std::string> names{"all"};
  for (const Bench& bench : benches()) names.push_back(bench.name);
  return names;
}

void add_bench(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench", "Run benchmarks against other programs, with verified results");
  command->add_option("NAME", arguments->name, fmt::format("one of {}", fmt::join(bench_names(), ", ")))
      ->type_name("BENCH")
      ->required();
  command->add_flag("--json", arguments->json, "one JSON object on standard output");
  command
      ->add_option("--rounds", arguments->options.rounds,
                   "number of measurements of both sides; agree makes four short ones of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--transport", arguments->options.transport,
                   "allreduce: between threads, or between MPI ranks")
      ->check(CLI::IsMember({"threads", "mpi"}));
  command->add_option("--only", arguments->options.only,
                      "compress, slow-network, reality, pipeline, python: only cases with this in their "
                      "name, such as powersgd");
  command
      ->add_option("--target", arguments->options.target,
                   "slow-network, grid-slow, python-hosts: the accuracy to reach, in per cent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command
      ->add_option(
          "--sizes", arguments->options.sizes,
          "allreduce: only these sizes, such as 1KB,64MB; reality: only these rates: 100mbit, 10mbit")
      ->delimiter(',');
  command
      ->add_option("--nodes", arguments->options.nodes,
                   "allreduce, crowd: only these numbers of nodes or ranks")
      ->delimiter(',')
      ->check(CLI::Range(2, 10000));
  command->add_option("--python", arguments->options.python, "Python interpreter with the peers' libraries")
      ->type_name("FILE");
  command
      ->add_option("--tune", arguments->options.tune,
                   "allreduce: write a table of the fastest algorithms to this file")
      ->type_name("FILE")
      ->expected(0, 1)
      ->default_str("veche-allreduce.toml");
  command
      ->add_option("--data", arguments->options.data,
                   "load: CIFAR-10 or another image set; default: the usual folder of CIFAR-10")
      ->type_name("SET")
      ->envname("CIFAR10");
  command->add_option("--isa", arguments->isa,
                      "at most this instruction set on both sides: avx512, avx2, sse4, plain");
  command
      ->add_option("--record", arguments->record,
                   "append machine, date, instruction set and ratios to this file, as one line of JSON")
      ->type_name("FILE");
  command->add_flag("--quick", arguments->options.quick,
                    "few short rounds: a functional check, not a comparison");
  command->callback([arguments] { bench(*arguments); });
}

}  // namespace veche::cli
