#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"

namespace veche {

// What a model was taught to see: enough to show it a picture when the data it learned from are not there.
struct ModelInput {
  Shape shape;
  int classes = 0;
  std::vector<std::string> class_names = {};        // empty: classes are but numbers
  std::optional<Normalization> normalization = {};  // none: its samples are not images

  std::string name_of(std::size_t label) const;
};

ModelInput input_of(const DataSource& source);
nlohmann::json to_json(const ModelInput& input);
// Throws nlohmann::json::exception or RequestError for what `to_json` has not written.
ModelInput model_input(const nlohmann::json& json);

// Pictures become samples as those of the test set did: the shorter side to the size that the model knows,
// and of that the middle. Any thread.
class PictureReader {
 public:
  // Throws RequestError when the samples are not images.
  explicit PictureReader(const ModelInput& input);

  // The bytes of a JPEG or PNG. Throws Damaged with a sentence part that has no subject, also above
  // kMostPixels, before room is made for them.
  std::vector<float> read(std::span<const std::uint8_t> file) const;
  // Pixels of that shape already, channels together.
  std::vector<float> normalize(std::span<const std::uint8_t> pixels) const;

  static constexpr std::int64_t kMostPixels = 64'000'000;

 private:
  const Shape shape_;
  const PixelTables tables_;
};

}  // namespace veche
