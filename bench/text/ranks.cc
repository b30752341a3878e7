#include "bench/text/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "bench/cluster/program.h"
#include "bench/cluster/sides.h"
#include "bench/rounds.h"
#include "veche/errors.h"
#include "veche/model/gpt_size.h"
#include "veche/random.h"

namespace veche {

extern const char kTextDdpPeer[];  // the model of peer.py, and ddp.py

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr char kModel[] = "gpt-nano";
constexpr int kBatch = 12;
constexpr int kSteps = 150;   // per side and round: some seconds
constexpr int kSymbols = 65;  // of the made-up text
constexpr std::size_t kCharacters = 200'000;
constexpr double kPromise = 1.5;

// A text of random characters, and the program's folders beside it.
class MadeUpText {
 public:
  MadeUpText() : folder_(fs::temp_directory_path() / ("veche-bench-text-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    RandomStream stream(1, "bench text");
    std::ofstream out(file());
    for (std::size_t i = 0; i < kCharacters; ++i)
      out << static_cast<char>('0' + (i < kSymbols ? i : stream.below(kSymbols)));
  }
  ~MadeUpText() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  MadeUpText(const MadeUpText&) = delete;
  MadeUpText& operator=(const MadeUpText&) = delete;

  std::string file() const { return (folder_ / "text.txt").string(); }
  std::string folder(const char* name) const { return (folder_ / name).string(); }

 private:
  const fs::path folder_;
};

double ours(const MadeUpText& text, int steps) {
  const Json result =
      run_ours(mpirun(2), {std::string("model.name=") + kModel, "model.dropout=0", "data.name=text",
                           "data.path=" + text.file(), "data.folder=" + text.folder("packed"),
                           "data.batch=" + std::to_string(kBatch), "optimizer.name=adamw",
                           "optimizer.lr=0.001", "optimizer.beta2=0.99", "optimizer.weight_decay=0.1",
                           "optimizer.decay_norms=false", "optimizer.clip=1", "strategy.name=allreduce",
                           "run.steps=" + std::to_string(steps), "run.out=" + text.folder("runs")});
  if (result["disagreement"]["cv"].get<double>() != 0)
    throw RunError("bench text: nodes that share every gradient differ");
  return result["tokens_per_second"].get<double>();
}

double theirs(const BenchOptions& options, int steps) {
  const GptSize size = *gpt_size(ModelSettings{.name = kModel});
  const Json request{{"layers", size.layers},   {"heads", size.heads}, {"width", size.width},
                     {"context", size.context}, {"symbols", kSymbols}, {"batch", kBatch},
                     {"steps", steps}};
  const std::string python = options.python.empty() ? VECHE_PYTHON : options.python;
  const std::string each = "exec " + quoted(python) + " -c " + quoted(kTextDdpPeer);
  const Json result =
      run_program({"sh", "-c", "RANK=1 sh -c " + quoted(each) + " & RANK=0 sh -c " + quoted(each) + "; wait"},
                  {"REQUEST=" + request.dump(), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                   std::string("MASTER_PORT=") + kPeerPort, "GLOO_SOCKET_IFNAME=lo"});
  if (!std::isfinite(result["loss"].get<double>()))
    throw RunError("bench text: the peer's loss is no number");
  return result["tokens"].get<double>() / result["seconds"].get<double>();
}

}  // namespace

BenchCase text_on_two_ranks(const BenchOptions& options) {
  const MadeUpText text;
  const int steps = options.quick ? 4 : kSteps;
  Rounds rounds(1);
  for (int round = 0; round < (options.quick ? 1 : std::min(options.rounds, 5)); ++round) {
    rounds.ours(ours(text, steps));
    rounds.theirs(0, theirs(options, steps));
  }
  return rounds.result(0, std::string(kModel) + ", 2 ranks, allreduce, batch " + std::to_string(kBatch),
                       "tokens/s", "PyTorch DDP", kPromise);
}

}  // namespace veche
