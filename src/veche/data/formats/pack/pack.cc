#include "veche/data/formats/pack/pack.h"

#include <fmt/format.h>

#include <optional>

#include "veche/data/formats/image/image.h"
#include "veche/data/formats/make_in_parallel.h"
#include "veche/data/formats/pack/writer.h"
#include "veche/data/sets/decoded_set.h"
#include "veche/data/sets/moments.h"

namespace veche {
namespace {

// One sample ready to be written, or the reason why it cannot be.
struct Prepared {
  std::string name;
  std::uint32_t label = 0;
  std::vector<std::uint8_t> bytes;
  int width = 0, height = 0;
  std::optional<Moments> moments;
  std::string damage;
};

// The training or the test part of a set. Any thread.
class Part {
 public:
  Part(const Dataset& data, std::string name, const PackOptions& options)
      : pixels_(dynamic_cast<const PixelSet*>(&data)),
        decoded_(dynamic_cast<const DecodedSet*>(&data)),
        name_(std::move(name)),
        options_(options) {
    if (pixels_ == nullptr) throw RequestError("only sets of images can be packed");
  }

  std::size_t size() const { return pixels_->size(); }
  bool keeps_files() const { return decoded_ != nullptr && !options_.decode; }
  int channels() const { return pixels_->shape().channels; }

  Prepared prepare(std::size_t index) const {
    Prepared sample;
    sample.label = static_cast<std::uint32_t>(pixels_->label(index));
    sample.name =
        decoded_ != nullptr ? decoded_->files().name_inside(index) : fmt::format("{}/{}", name_, index);
    try {
      if (keeps_files()) {
        keep_file(index, sample);
      } else {
        keep_pixels(index, sample);
      }
    } catch (const Damaged& damage) {
      sample.damage = fmt::format(
          "'{}' {}", decoded_ != nullptr ? decoded_->files().name(index) : sample.name, damage.what());
    }
    return sample;
  }

 private:
  void keep_file(std::size_t index, Prepared& sample) const {
    thread_local std::vector<std::uint8_t> room;
    thread_local Image image;
    const auto bytes = decoded_->files().bytes(index, room);
    // Decoded in any case: to verify it and to compute channel means.
    decode_image(bytes, channels(), options_.resize, image);
    if (options_.resize > 0 && std::min(image.width, image.height) != options_.resize) {
      Image resized;
      resize_shorter_side(image, options_.resize, resized);
      image = std::move(resized);
      sample.bytes = encode_jpeg(image, options_.quality);
    } else if (options_.resize > 0) {
      const ImageFacts facts = look_at_image(bytes);
      const bool as_it_is = facts.width == image.width && facts.height == image.height;
      sample.bytes =
          as_it_is ? std::vector(bytes.begin(), bytes.end()) : encode_jpeg(image, options_.quality);
    } else {
      sample.bytes.assign(bytes.begin(), bytes.end());
    }
    sample.width = image.width;
    sample.height = image.height;
    sample.moments.emplace(channels());
    sample.moments->add(image.pixels);
  }

  void keep_pixels(std::size_t index, Prepared& sample) const {
    thread_local std::vector<std::uint8_t> room;
    const Shape shape = pixels_->shape();
    sample.bytes.resize(shape.size());
    std::span<const std::uint8_t> pixels = sample.bytes;
    if (decoded_ != nullptr) {
      decode_into(decoded_->files().bytes(index, room), decoded_->decoding(), sample.bytes);
    } else {
      pixels = pixels_->pixels(index, sample.bytes);
    }
    if (pixels.data() != sample.bytes.data()) sample.bytes.assign(pixels.begin(), pixels.end());
    sample.width = shape.width;
    sample.height = shape.height;
    sample.moments.emplace(shape.channels);
    sample.moments->add(sample.bytes);
  }

  const PixelSet* pixels_;
  const DecodedSet* decoded_;  // null: the set has only pixels
  std::string name_;
  const PackOptions& options_;
};

}  // namespace

PackResult pack(const DataSource& source, const std::filesystem::path& out, const PackOptions& options) {
  const Part train(*source.train, "train", options), test(*source.test, "test", options);
  PackWriter writer(out, options.shard_bytes);
  PackResult result;
  PackedIndex facts;
  facts.kind = train.keeps_files() ? PackedIndex::Kind::files : PackedIndex::Kind::pixels;
  facts.shape = {train.channels(), 0, 0};
  for (int label = 0; label < source.train->classes(); ++label)
    facts.classes.push_back(class_name(source, label));
  Moments moments(train.channels());
  bool first = true, equal = true;

  const std::size_t all = train.size() + test.size();
  make_in_parallel(
      all, options.threads,
      [&](std::size_t i) { return i < train.size() ? train.prepare(i) : test.prepare(i - train.size()); },
      [&](std::size_t i, Prepared sample) {
        options.progress(i, all);
        const bool is_test = i >= train.size();
        if (!sample.damage.empty()) {
          if (options.bad == OnDamage::refuse)
            throw RequestError(sample.damage + "; --bad skip leaves it out");
          ++result.damaged;
          if (result.damage.size() < DamageLog::kKept) result.damage.push_back(sample.damage);
          return;
        }
        equal =
            equal && (first || (sample.width == facts.shape.width && sample.height == facts.shape.height));
        if (first) facts.shape = {train.channels(), sample.height, sample.width};
        first = false;
        if (!is_test) moments.add(*sample.moments);
        writer.add(sample.name, sample.label, sample.bytes, is_test);
        ++(is_test ? result.test : result.train);
      });
  if (result.train == 0) throw RequestError("no training sample of '" + source.name + "' can be used");
  if (!equal) facts.shape.height = facts.shape.width = 0;
  facts.normalization = moments.normalization();
  result.bytes = writer.bytes_written();
  writer.commit(std::move(facts));
  return result;
}

}  // namespace veche
