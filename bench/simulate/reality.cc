#include "bench/simulate/reality.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/topology/command.h"
#include "veche/errors.h"

namespace veche {

extern const char kNetlab[];  // the text of scripts/netlab

namespace {

using Json = nlohmann::json;

constexpr double kNear = 0.9;  // at most 10 % off

Words lab_of(int hosts, const std::string& rate) {
  return {"bash", "-c", kNetlab, "netlab", "--hosts", std::to_string(hosts), "--rate", rate, "mpirun"};
}

const Words kRun{"data.name=synthetic",
                 "data.shape=[1,28,28]",
                 "data.samples=4000",
                 "data.test_samples=4",
                 "data.batch=25",
                 "model.name=cnn",
                 "model.dropout=0",
                 "optimizer.name=sgd",
                 "run.checkpoint_every=1000000",
                 "run.eval_every=1000000",
                 "run.out=/tmp/veche-bench-reality"};

double seconds_per_step(const Json& summary) {
  return summary.at("seconds").get<double>() / summary.at("steps").get<double>();
}

// Two runs of different lengths; or a single one.
struct Lengths {
  int few = 4;
  int many = 16;
};

// Seconds per step from the difference of the two runs: a first pass is slower, since libraries
// prepare what they cache (tenths of a second, negligible on a slow network). No evaluation in
// between, since nodes leave it one after the other.
double measured_step(int hosts, const std::string& rate, const Words& assignments, const Lengths& steps) {
  const auto seconds = [&](int length) {
    const Words run = joined(kRun, joined(assignments, {fmt::format("run.steps={}", length)}));
    return run_ours(lab_of(hosts, rate), run).at("seconds").get<double>();
  };
  return (seconds(steps.many) - (steps.few > 0 ? seconds(steps.few) : 0)) / (steps.many - steps.few);
}

// Measurements between two hosts as a file: their network, and the time of a step when four nodes
// compute on this machine, which the laboratory's hosts share.
class Calibration {
 public:
  explicit Calibration(const std::string& rate)
      : file_(std::filesystem::temp_directory_path() / fmt::format("veche-reality-{}.toml", ::getpid())) {
    const Json network = run_program(joined(lab_of(2, rate), {own_path(), "bench", "network", "--json"}));
    const double alone = measured_step(2, rate, {"strategy.name=none", "cluster.nodes=4"}, {20, 60});
    std::ofstream(file_) << network.at("section").get<std::string>()
                         << fmt::format("learning = \"none\"\nseconds_per_step = {}\n", alone);
  }
  ~Calibration() { std::filesystem::remove(file_); }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  double predicted(const Words& assignments, int steps) const {
    Words words{"simulate", file_.string(), "--quiet", "--json", "--set", "cluster.nodes=4"};
    for (const std::string& assignment :
         joined(kRun, joined(assignments, {fmt::format("run.steps={}", steps)})))
      words = joined(words, {"--set", assignment});
    return seconds_per_step(Json::parse(run_self(words).output));
  }

 private:
  const std::filesystem::path file_;
};

struct RealityCase {
  std::string name;
  Words assignments;
  int period = 1;  // steps after which the pattern repeats
};

}  // namespace

std::vector<BenchCase> bench_reality(const BenchOptions& options) {
  const std::vector<RealityCase> strategies{
      {"allreduce", {"strategy.name=allreduce", "strategy.algorithm=ring"}},
      {"consensus on a ring", {"strategy.name=consensus", "topology.graph=ring:4"}},
      {"parameter server", {"strategy.name=parameter-server"}},
      {"local SGD, every 4", {"strategy.name=local-sgd", "strategy.period=4"}, 4}};
  const Words rates{"100mbit", "10mbit"};
  for (const std::string& wanted : options.sizes)
    if (std::ranges::find(rates, wanted) == rates.end())
      throw RequestError(
          fmt::format("bench reality measures at {}, not at '{}'", fmt::join(rates, " and "), wanted));
  std::vector<BenchCase> cases;
  for (const std::string& rate : rates) {
    const bool fast = rate == "100mbit";
    if (options.sizes.empty() ? options.quick && !fast
                              : std::ranges::find(options.sizes, rate) == options.sizes.end())
      continue;
    const Calibration calibration(rate);
    std::vector<std::pair<double, double>> order;  // measured and predicted
    for (const RealityCase& each : strategies) {
      const Lengths steps =
          fast && !options.quick ? Lengths{} : Lengths{0, (options.quick ? 1 : 4) * each.period};
      BenchCase result;
      result.name = fmt::format("{} at {}", each.name, rate);
      if (!options.wants(result.name)) continue;
      result.value = calibration.predicted(each.assignments, steps.many);
      result.peer_value = measured_step(4, rate, each.assignments, steps);
      result.unit = "s/step";
      result.peer = "four hosts";
      result.ratio = std::min(result.value / result.peer_value, result.peer_value / result.value);
      result.rounds = 1;
      result.required = kNear;
      order.emplace_back(result.peer_value, result.value);
      cases.push_back(std::move(result));
    }
    std::ranges::sort(order);
    if (!std::ranges::is_sorted(order, {}, &std::pair<double, double>::second))
      options.tell(fmt::format("reality: at {} the strategies come in another order than predicted", rate));
  }
  return cases;
}

}  // namespace veche
