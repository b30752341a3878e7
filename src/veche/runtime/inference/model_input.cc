#include "veche/runtime/inference/model_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veche/data/formats/image/image.h"
#include "veche/data/sets/damage.h"
#include "veche/data/sets/known_sets.h"
#include "veche/errors.h"
#include "veche/runtime/inference/table_json.h"
#include "veche/runtime/inference/tokenizer_json.h"

namespace veche {
namespace {

constexpr int kLargestSide = 1 << 16, kMostClasses = 1 << 24;
constexpr int kNarrowest = 1000;  // the longer side of a picture over the shorter

const Normalization& normalization_of(const ModelInput& input) {
  if (!input.normalization)
    throw RequestError("the model was not trained on images: it cannot classify pictures");
  return *input.normalization;
}

// The largest box in the middle that has the shape's proportions.
Box middle_of(const Image& image, const Shape& shape) {
  const auto part = [](int whole, int other, int mine, int others) {
    return std::clamp(static_cast<int>(static_cast<std::int64_t>(other) * mine / others), 1, whole);
  };
  const int width = part(image.width, image.height, shape.width, shape.height);
  const int height = part(image.height, image.width, shape.height, shape.width);
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

}  // namespace

std::string ModelInput::name_of(std::size_t label) const {
  return label < class_names.size() ? class_names[label] : std::to_string(label);
}

ModelInput input_of(const DataSource& source) {
  ModelInput input{source.train->shape(), source.train->classes(),
                   source.class_names.empty() ? usual_class_names(source.name) : source.class_names};
  if (const auto* pixels = dynamic_cast<const PixelSet*>(source.train.get()))
    input.normalization = pixels->normalization();
  input.task = source.train->task();
  input.tokenizer = source.tokenizer;
  if (const ValueTargets* const values = source.train->values()) {
    input.target_mean = values->mean();
    input.target_deviation = values->deviation();
  }
  if (source.scheme) input.table = *source.scheme;
  return input;
}

nlohmann::json to_json(const ModelInput& input) {
  nlohmann::json json{{"shape", {input.shape.channels, input.shape.height, input.shape.width}},
                      {"classes", input.classes},
                      {"class_names", input.class_names},
                      {"task", to_string(input.task)}};
  if (input.tokenizer) json["tokenizer"] = tokenizer_json(*input.tokenizer);
  if (input.normalization)
    json["normalization"] = {{"mean", input.normalization->mean},
                             {"deviation", input.normalization->deviation}};
  if (input.task == Task::regression)
    json["target"] = {{"mean", input.target_mean}, {"deviation", input.target_deviation}};
  if (input.table) json["table"] = scheme_json(*input.table);
  return json;
}

ModelInput model_input(const nlohmann::json& json) {
  ModelInput input;
  const auto sides = json.at("shape").get<std::vector<int>>();
  if (sides.size() != 3 || std::ranges::any_of(sides, [](int s) { return s < 1 || s > kLargestSide; }))
    throw RequestError("its shape is invalid");
  input.shape = {sides[0], sides[1], sides[2]};
  input.classes = json.at("classes").get<int>();
  input.class_names = json.at("class_names").get<std::vector<std::string>>();
  // Versions that knew classes only do not say so.
  const auto task = parse_task(json.value("task", "classification"));
  if (!task) throw RequestError("its task is invalid");
  input.task = *task;
  if (json.contains("target")) {
    input.target_mean = json.at("target").at("mean");
    input.target_deviation = json.at("target").at("deviation");
  }
  if (json.contains("table")) {
    input.table = scheme_of_json(json.at("table"));
    if (input.table->width() != input.shape.size()) throw RequestError("its table does not fit its shape");
  }
  if (input.classes < (input.task == Task::regression ? 0 : 1) || input.classes > kMostClasses ||
      (!input.class_names.empty() && input.class_names.size() != static_cast<std::size_t>(input.classes)))
    throw RequestError("the number of classes and of class names differ");
  if (json.contains("tokenizer")) input.tokenizer = tokenizer_of(json.at("tokenizer"));
  if (input.tokenizer && input.tokenizer->size() != input.classes)
    throw RequestError("its tokenizer has another number of symbols than the vocabulary");
  if (!json.contains("normalization")) return input;
  const auto& normalization = json.at("normalization");
  input.normalization = Normalization{normalization.at("mean").get<std::vector<double>>(),
                                      normalization.at("deviation").get<std::vector<double>>()};
  for (const auto* numbers : {&input.normalization->mean, &input.normalization->deviation})
    if (numbers->size() != 1 && numbers->size() != static_cast<std::size_t>(input.shape.channels))
      throw RequestError("its normalisation does not fit its channels");
  return input;
}

PictureReader::PictureReader(const ModelInput& input)
    : shape_(input.shape), tables_(input.shape.channels, normalization_of(input)) {
  if (shape_.channels != 1 && shape_.channels != 3)
    throw RequestError(fmt::format("the model sees {} channels: a picture has 1 or 3", shape_.channels));
}

std::vector<float> PictureReader::normalize(std::span<const std::uint8_t> pixels) const {
  std::vector<float> sample(shape_.size());
  tables_.normalize(pixels, sample);
  return sample;
}

std::vector<float> PictureReader::read(std::span<const std::uint8_t> file) const {
  const ImageFacts facts = look_at_image(file);
  if (std::int64_t{facts.width} * facts.height > kMostPixels)
    throw Damaged(fmt::format("has {}x{} pixels, more than {} million in all", facts.width, facts.height,
                              kMostPixels / 1'000'000));
  if (std::max(facts.width, facts.height) / std::min(facts.width, facts.height) > kNarrowest)
    throw Damaged(fmt::format("is {}x{} pixels: too narrow to see anything", facts.width, facts.height));
  thread_local Image image;  // kept: allocating it takes longer than decoding a small picture
  decode_image(file, shape_.channels, std::max(shape_.height, shape_.width), image);
  std::vector<std::uint8_t> pixels(shape_.size());
  if (shape_.height == shape_.width)
    resize_and_crop(image, shape_.height, pixels);
  else if (image.width == shape_.width && image.height == shape_.height)
    std::ranges::copy(image.pixels, pixels.begin());
  else
    resize_part(image, middle_of(image, shape_), shape_.width, shape_.height, pixels);
  return normalize(pixels);
}

}  // namespace veche
