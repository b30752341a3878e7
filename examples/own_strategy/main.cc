// A strategy of one's own: every `every` steps each node sends its parameters to the next one on a
// circle and takes the mean of its own and those it receives. Six quadratics with different minima
// find the minimum of their sum.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "veche/veche.h"

namespace {

class PassOn : public veche::Strategy {
 public:
  explicit PassOn(veche::StrategyContext context)
      : context_(std::move(context)), every_(context_.options.get<int>("every")) {}

  // The optimiser has made its step; the parameters may be changed.
  void after_step(std::uint64_t step) override {
    if ((step + 1) % static_cast<std::uint64_t>(every_) != 0) return;
    veche::Channel& channel = context_.channel;
    const int me = channel.me().value;
    const int nodes = channel.size();
    const std::span<float> x = context_.learner.parameters();
    const veche::Message mine = channel.pool.copy_of(std::span<const float>(x));
    channel.send(veche::NodeId{(me + 1) % nodes}, mine);
    const veche::Message theirs = channel.expect(veche::NodeId{(me + nodes - 1) % nodes});
    veche::weighted_sum(x, std::array{mine.as<float>(), theirs.as<float>()}, std::array{0.5F, 0.5F});
  }

 private:
  veche::StrategyContext context_;
  const int every_;
};

veche::StrategyInfo pass_on() {
  veche::StrategyInfo info;
  info.name = "pass-on";
  info.rule = "x_i <- (x_i + x_(i-1)) / 2 on a circle";
  info.keys = {veche::whole_key("every", 1, "steps between exchanges")};
  info.make = [](veche::StrategyContext context) { return std::make_unique<PassOn>(std::move(context)); };
  return info;
}

}  // namespace

int main(int argc, char** argv) try {
  veche::register_strategy(pass_on());
  veche::Config config;
  for (const char* key :
       {"strategy.name=pass-on", "strategy.every=2", "model.name=quadratic", "model.a=[1, 1, 1, 1, 1, 1]",
        "model.b=[1, 2, 3, 4, 5, 6]", "run.steps=1000", "run.eval_every=250", "optimizer.name=sgd",
        "optimizer.lr=0.02", "optimizer.schedule=cosine"})
    config.set(key);
  for (int i = 1; i < argc; ++i) config.set(argv[i]);  // such as strategy.every=5
  veche::Run run(config, {.keep = false, .on_evaluation = [](const veche::Evaluation& evaluation) {
                            std::printf("step %4llu: nodes differ by %.2f %%\n",
                                        static_cast<unsigned long long>(evaluation.step),
                                        100 * evaluation.cv);
                          }});
  const veche::RunResult result = run.wait();
  if (result.info.rank == 0)  // under mpirun one speaks for all
    std::printf("x = %.3f where the sum has its minimum at 3.5\n", result.parameters.front().front());
  return 0;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_strategy: %s\n", error.what());
  return 1;
}
