#include "veche/data/sets/synthetic.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "veche/random.h"

namespace veche {
namespace {

constexpr double kMiddle = 127.5;
constexpr double kDeviation = 42.5;             // three deviations span a byte
constexpr double kSumDeviation = 147.80054127;  // of the sum of four bytes: the root of 4 (256^2 - 1) / 12
constexpr int kCoarse = 4;  // a class image is interpolated from this many values per side

// An approximately normal number with mean 0 and deviation 1: the sum of four random bytes.
// Integers up to the last operation and no logarithm, so it is fast and the same with every math
// library.
class Bell {
 public:
  explicit Bell(RandomStream stream) : stream_(stream) {}

  double next() {
    if (left_ == 0) {
      bits_ = stream_.next();
      left_ = 2;
    }
    --left_;
    int sum = 0;
    for (int i = 0; i < 4; ++i, bits_ >>= 8) sum += static_cast<int>(bits_ & 0xff);
    return (sum - 510) / kSumDeviation;
  }

 private:
  RandomStream stream_;
  std::uint64_t bits_ = 0;
  int left_ = 0;
};

// Position of a pixel among the coarse values: between `first` and the next one.
struct Place {
  int first;
  double part;
};
Place place(int position, int length) {
  const double x = length == 1 ? 0 : static_cast<double>(position) * (kCoarse - 1) / (length - 1);
  const int first = std::min(static_cast<int>(x), kCoarse - 2);
  return {first, x - first};
}

void standardize(std::vector<float>& image) {
  if (image.size() < 2) return;
  double sum = 0, squares = 0;
  for (const float v : image) sum += v;
  const double mean = sum / static_cast<double>(image.size());
  for (const float v : image) squares += (v - mean) * (v - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(image.size()));
  for (float& v : image) v = static_cast<float>((v - mean) / deviation);
}

std::vector<float> class_image(const Shape& shape, int label, std::uint64_t seed) {
  std::vector<float> image(shape.size());
  Bell bell(RandomStream(seed, "synthetic class", static_cast<std::uint64_t>(label)));
  for (int c = 0; c < shape.channels; ++c) {
    double coarse[kCoarse][kCoarse];
    for (auto& row : coarse) std::generate(std::begin(row), std::end(row), [&] { return bell.next(); });
    for (int y = 0; y < shape.height; ++y) {
      const Place v = place(y, shape.height);
      for (int x = 0; x < shape.width; ++x) {
        const Place h = place(x, shape.width);
        const double upper = std::lerp(coarse[v.first][h.first], coarse[v.first][h.first + 1], h.part);
        const double lower =
            std::lerp(coarse[v.first + 1][h.first], coarse[v.first + 1][h.first + 1], h.part);
        image[static_cast<std::size_t>((y * shape.width + x) * shape.channels + c)] =
            static_cast<float>(std::lerp(upper, lower, v.part));
      }
    }
  }
  standardize(image);
  return image;
}

}  // namespace

Samples make_synthetic(const SyntheticOptions& options, std::string_view split, std::uint64_t seed) {
  const auto classes = static_cast<std::size_t>(options.classes);
  const std::size_t pixels = options.shape.size();
  std::vector<std::vector<float>> images;
  for (std::size_t label = 0; label < std::min(classes, options.samples); ++label) {
    images.push_back(class_image(options.shape, static_cast<int>(label), seed));
  }

  std::vector<std::uint8_t> bytes(options.samples * pixels);
  std::vector<std::int64_t> labels(options.samples);
  const double scale = kDeviation / std::sqrt(1 + options.noise * options.noise);
  const std::string purpose = "synthetic " + std::string(split);
  for (std::size_t i = 0; i < options.samples; ++i) {
    const std::vector<float>& image = images[i % classes];
    Bell bell(RandomStream(seed, purpose, i));
    std::uint8_t* out = bytes.data() + i * pixels;
    for (std::size_t p = 0; p < pixels; ++p) {
      const double value = kMiddle + scale * (image[p] + options.noise * bell.next());
      out[p] = static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
    }
    labels[i] = static_cast<std::int64_t>(i % classes);
  }
  return samples_of(options.shape, options.classes, std::move(bytes), std::move(labels));
}

Normalization synthetic_normalization() { return {.mean = {kMiddle / 255}, .deviation = {kDeviation / 255}}; }

}  // namespace veche
