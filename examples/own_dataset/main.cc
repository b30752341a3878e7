// A data set of one's own: points of two spirals, made when they are read, which a small network
// learns to tell apart on four nodes. `data.turns` is a key of its own.
#include <cmath>
#include <cstdio>
#include <memory>

#include "veche/veche.h"

namespace {

class Spirals : public veche::Dataset {
 public:
  Spirals(std::size_t size, double turns, std::uint64_t seed) : size_(size), turns_(turns), seed_(seed) {}

  std::size_t size() const override { return size_; }
  veche::Shape shape() const override { return {2, 1, 1}; }
  int classes() const override { return 2; }
  std::int64_t label(std::size_t index) const override { return static_cast<std::int64_t>(index % 2); }

  // Any thread may ask for any sample, and gets the same every time.
  void read(std::size_t index, std::span<float> out) const override {
    veche::RandomStream random(seed_, "spirals", index);
    const double radius = std::sqrt(random.uniform());
    const double angle = 2 * M_PI * turns_ * radius + M_PI * static_cast<double>(label(index));
    out[0] = static_cast<float>(2 * radius * std::cos(angle) + 0.03 * random.normal());
    out[1] = static_cast<float>(2 * radius * std::sin(angle) + 0.03 * random.normal());
  }

 private:
  const std::size_t size_;
  const double turns_;
  const std::uint64_t seed_;
};

veche::OwnDataset spirals() {
  return {.name = "spirals",
          .keys = {veche::real_key("turns", 1, "how far each spiral goes round")},
          .open = [](const veche::Options& data, std::uint64_t seed) -> veche::OwnDataset::Parts {
            const double turns = data.get<double>("turns");
            if (turns > 10)
              throw veche::RequestError("data.turns = " + std::to_string(turns) + ": at most 10");
            return {.train = std::make_shared<Spirals>(4000, turns, seed),
                    .test = std::make_shared<Spirals>(1000, turns, seed + 1),
                    .class_names = {"inner", "outer"}};
          }};
}

}  // namespace

int main(int argc, char** argv) try {
  veche::register_dataset(spirals());
  veche::Config config;
  for (const char* key : {"data.name=spirals", "data.turns=1", "model.name=mlp", "model.hidden=[32, 32]",
                          "cluster.nodes=4", "topology.graph=ring", "run.epochs=20", "optimizer.lr=0.01"})
    config.set(key);
  for (int i = 1; i < argc; ++i) config.set(argv[i]);  // such as data.turns=2
  veche::Run run(config, {.keep = false});
  const veche::RunResult result = run.wait();
  const double accuracy = result.last.average_model.accuracy();
  std::printf("%s on %d nodes: accuracy %.3f\n", result.info.data.c_str(), result.info.nodes, accuracy);
  return accuracy > 0.9 ? 0 : 1;
} catch (const veche::Error& error) {
  std::fprintf(stderr, "own_dataset: %s\n", error.what());
  return 1;
}
