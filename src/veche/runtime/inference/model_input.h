#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"
#include "veche/data/table/scheme.h"

namespace veche {

// The input that a model was trained on: enough to turn a picture or a row of a table into a sample
// without the training data.
struct ModelInput {
  Shape shape;
  int classes = 0;  // symbols of the vocabulary of a text; 0 where the targets are numbers
  std::vector<std::string> class_names = {};        // empty: classes are numbers only
  std::optional<Normalization> normalization = {};  // none: the samples are not images
  Task task = Task::classification;
  std::shared_ptr<const Tokenizer> tokenizer = {};  // of a text
  double target_mean = 0, target_deviation = 1;     // Task::regression
  std::optional<TableScheme> table = {};            // none: the samples are no rows of a table

  std::string name_of(std::size_t label) const;
};

ModelInput input_of(const DataSource& source);
nlohmann::json to_json(const ModelInput& input);
// Throws nlohmann::json::exception or RequestError for anything that `to_json` has not written.
ModelInput model_input(const nlohmann::json& json);

// Turns pictures into samples in the way of the test set: resizes the shorter side to the model's
// input size and crops the middle. Any thread.
class PictureReader {
 public:
  // Throws RequestError when the samples are not images.
  explicit PictureReader(const ModelInput& input);

  // `file`: the bytes of a JPEG or PNG. Throws Damaged with a sentence without its subject, also
  // for more than kMostPixels, before memory is allocated for them.
  std::vector<float> read(std::span<const std::uint8_t> file) const;
  // For pixels that have the right shape already, channels interleaved.
  std::vector<float> normalize(std::span<const std::uint8_t> pixels) const;

  static constexpr std::int64_t kMostPixels = 64'000'000;

 private:
  const Shape shape_;
  const PixelTables tables_;
};

}  // namespace veche
