#include "bench/load/prepare.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>

#include "bench/peer.h"
#include "bench/rounds.h"
#include "bench/step/task.h"
#include "veche/data/feed/loader.h"
#include "veche/errors.h"
#include "veche/train/optim/optimizer.h"

namespace veche {

extern const char kLoadPeer[];  // the text of peer.py

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 128;
constexpr Augmentation kChanges{.crop = 4, .flip = true};  // customary for CIFAR

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One preparing thread, like one worker: a prefetcher without workers leaves the work to the
// caller.
class OurSide {
 public:
  OurSide(std::shared_ptr<const Dataset> data, std::size_t first)
      : data_(std::move(data)),
        loader_(data_, {{.node = 0, .samples = all(first)}}, {.batch = kBatch, .augment = kChanges},
                nobody_) {}

  double images_per_second(std::size_t count) {
    const auto start = Clock::now();
    std::size_t done = 0;
    while (done < count) done += loader_.next().size();
    return static_cast<double>(done) / seconds_since(start);
  }

  struct Moments {
    double mean = 0, square = 0;
  };
  Moments moments(std::size_t count) {
    Moments result;
    double numbers = 0;
    for (std::size_t done = 0; done < count;) {
      const Batch batch = loader_.next();
      done += batch.size();
      numbers += static_cast<double>(batch.inputs.size());
      for (const double value : batch.inputs) {
        result.mean += value;
        result.square += value * value;
      }
    }
    return {result.mean / numbers, result.square / numbers};
  }

 private:
  static std::vector<std::uint32_t> all(std::size_t count) {
    std::vector<std::uint32_t> samples(count);
    std::iota(samples.begin(), samples.end(), 0u);
    return samples;
  }

  const std::shared_ptr<const Dataset> data_;
  Prefetcher nobody_{0};
  Loader loader_;
};

// The first images of a set as files for the peer, deleted by the destructor.
class RawFiles {
 public:
  RawFiles(const PixelSet& data, std::size_t count)
      : folder_(fs::temp_directory_path() / ("veche-bench-raw-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream pixels(folder_ / "pixels", std::ios::binary), labels(folder_ / "labels", std::ios::binary);
    std::vector<std::uint8_t> room(data.shape().size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto bytes = data.pixels(i, room);
      const std::int64_t label = data.label(i);
      pixels.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      labels.write(reinterpret_cast<const char*>(&label), sizeof label);
    }
    if (!pixels.flush() || !labels.flush()) throw RunError("cannot write " + folder_.string());
  }
  ~RawFiles() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  RawFiles(const RawFiles&) = delete;
  RawFiles& operator=(const RawFiles&) = delete;

  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  const fs::path folder_;
};

// The calls of the training loop on one core.
class ImageTrainer {
 public:
  explicit ImageTrainer(const Shape& input) : task_(spec_for(input), kImages) {
    optimizer_ = make_optimizer(OptimizerSettings{.name = "sgd"}, task_.learner().parameters().size());
    images_per_second(1);
  }

  double images_per_second(int steps) {
    const auto start = Clock::now();
    for (int i = 0; i < steps; ++i, ++step_) {
      task_.learner().compute_gradient(task_.batch(step_));
      optimizer_->update(task_.learner().parameters(), task_.learner().gradients(),
                         {.rate = 0.01, .gradient_scale = 1, .number = step_ + 1});
    }
    return steps * kImages / seconds_since(start);
  }

 private:
  static constexpr int kImages = 32;
  static ModelSpec spec_for(const Shape& input) {
    ModelSpec spec;
    spec.name = "resnet20";
    spec.input = input;
    return spec;
  }

  const TrainingTask task_;
  std::unique_ptr<Optimizer> optimizer_;
  std::uint64_t step_ = 0;
};

// Images without augmentation must be equal; augmented ones must have equal mean and deviation.
void check(Peer& peer, const std::string& name, const PixelSet& data, OurSide& ours, std::size_t count) {
  const Shape shape = data.shape();
  const std::size_t few = std::min<std::size_t>(64, data.size());
  const std::string file = peer.ask({{"do", "plain"}, {"name", name}, {"count", few}})["images"];
  std::vector<float> theirs(few * shape.size());
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(theirs.data()),
            static_cast<std::streamsize>(theirs.size() * sizeof(float)));
  fs::remove(file);
  BatchStorage storage;
  const Batch batch = read_batch(data, 0, few, storage);
  const auto channels = static_cast<std::size_t>(shape.channels), area = shape.size() / channels;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    const std::size_t image = i / shape.size(), pixel = i % shape.size() / channels, channel = i % channels;
    if (std::abs(batch.inputs[i] - theirs[image * shape.size() + channel * area + pixel]) > 1e-4F)
      throw RunError("bench load: image " + std::to_string(image) + " of '" + name +
                     "' differs from PyTorch's");
  }
  const auto answer = peer.ask({{"do", "run"}, {"name", name}});
  const OurSide::Moments moments = ours.moments(10 * count);
  const double deviation = std::sqrt(moments.square);
  // For different draws: five times the random deviation, far below the effect of a missing
  // augmentation.
  constexpr double kChance = 0.08;
  if (std::abs(answer["mean"].get<double>() - moments.mean) > kChance * deviation ||
      std::abs(answer["square"].get<double>() / moments.square - 1) > kChance)
    throw RunError("bench load: the augmented images of '" + name + "' are not spread as PyTorch's");
}

struct Case {
  std::string name;
  std::shared_ptr<const PixelSet> data;
  std::size_t first;     // number of leading samples, the same on both sides
  nlohmann::json where;  // location for the peer
};

std::vector<BenchCase> measure(const Case& one, Peer& peer, ImageTrainer& trainer,
                               const BenchOptions& options) {
  const std::size_t theirs = options.quick ? 1500 : 4000, ours = options.quick ? 2000 : 40000;
  const Shape shape = one.data->shape();
  const Normalization& normal = one.data->normalization();
  nlohmann::json request{{"do", "make"},          {"name", one.name},
                         {"mean", normal.mean},   {"deviation", normal.deviation},
                         {"crop", kChanges.crop}, {"flip", kChanges.flip},
                         {"batch", kBatch},       {"workers", 1},
                         {"count", theirs},       {"shape", {shape.height, shape.width, shape.channels}}};
  request.update(one.where);
  peer.ask(request);
  OurSide side(one.data, one.first);
  check(peer, one.name, *one.data, side, theirs);

  Rounds rounds(2);
  for (int round = 0; round < (options.quick ? 2 : options.rounds); ++round) {
    rounds.ours(side.images_per_second(ours));
    const auto answer = peer.ask({{"do", "run"}, {"name", one.name}});
    rounds.theirs(0, answer["images"].get<double>() / answer["seconds"].get<double>());
    rounds.theirs(1, trainer.images_per_second(options.quick ? 1 : 4));
  }
  return {rounds.result(0, one.name, "images/s", "DataLoader, one worker", 5),
          rounds.result(1, one.name, "images/s", "resnet20 trained on a core", 8)};
}

}  // namespace

std::vector<BenchCase> bench_prepare(const SmallFiles& files, const BenchOptions& options) {
  const auto images = std::dynamic_pointer_cast<const PixelSet>(files.decoded.train);
  const std::size_t first = std::min<std::size_t>(images->size(), options.quick ? 500 : 10000);
  const RawFiles raw(*images, first);

  Peer peer(options.python.empty() ? VECHE_PYTHON : options.python, kLoadPeer, "python3-torchvision");
  ImageTrainer trainer(images->shape());
  std::vector<Case> todo{{"packed decoded, crop, flip",
                          images,
                          first,
                          {{"pixels", raw.path("pixels")}, {"labels", raw.path("labels")}}}};
  // The peer reads the files in the folder.
  todo.push_back({"packed JPEG, crop, flip",
                  std::dynamic_pointer_cast<const PixelSet>(files.packed.train),
                  files.packed.train->size(),
                  {{"folder", files.in_folder.place + "/train"}}});
  std::vector<BenchCase> cases;
  for (const Case& one : todo)
    for (BenchCase& result : measure(one, peer, trainer, options)) cases.push_back(std::move(result));
  return cases;
}

}  // namespace veche
