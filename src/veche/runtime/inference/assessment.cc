#include "veche/runtime/inference/assessment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "veche/train/measure/class_scores.h"

namespace veche {
namespace {

double fraction_of(std::int64_t of, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all);
}

}  // namespace

std::size_t best_of(std::span<const float> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

Assessment::Assessment(std::size_t classes) : classes_(classes), confusion_(classes * classes) {}

void Assessment::add(std::size_t label, std::span<const float> probabilities) {
  if (label >= classes_ || probabilities.size() != classes_)
    throw std::invalid_argument("an answer of another number of classes");
  const std::size_t answer = best_of(probabilities);
  const double sure = probabilities[answer];
  const bool right = answer == label;
  ++count_;
  right_ += right ? 1 : 0;
  ++confusion_[label * classes_ + answer];
  // A probability of zero is a very small one, rounded.
  loss_ -= std::log(std::max(static_cast<double>(probabilities[label]),
                             static_cast<double>(std::numeric_limits<float>::denorm_min())));
  Bin& bin = bins_[std::min(static_cast<std::size_t>(std::max(sure, 0.0) * kBins), kBins - 1)];
  ++bin.count;
  bin.right += right ? 1 : 0;
  bin.probability += sure;
  if (classes_ == 2) (label == 1 ? positive_ : negative_).push_back(probabilities[1]);
}

double Assessment::accuracy() const { return fraction_of(right_, count_); }
double Assessment::loss() const { return count_ == 0 ? 0 : loss_ / static_cast<double>(count_); }

std::optional<double> Assessment::auc() const {
  if (positive_.empty() || negative_.empty()) return {};
  std::vector<float> positive = positive_, negative = negative_;
  return area_under_curve(positive, negative);
}

std::int64_t Assessment::of_class(std::size_t truth) const {
  std::int64_t sum = 0;
  for (std::size_t answer = 0; answer < classes_; ++answer) sum += confused(truth, answer);
  return sum;
}

std::int64_t Assessment::answers(std::size_t answer) const {
  std::int64_t sum = 0;
  for (std::size_t truth = 0; truth < classes_; ++truth) sum += confused(truth, answer);
  return sum;
}

double Assessment::calibration_error() const {
  double error = 0;
  for (const Bin& bin : bins_) error += std::abs(static_cast<double>(bin.right) - bin.probability);
  return count_ == 0 ? 0 : error / static_cast<double>(count_);
}

nlohmann::ordered_json Assessment::to_json(const std::vector<std::string>& names) const {
  using Json = nlohmann::ordered_json;
  Json json{{"count", count_}, {"accuracy", accuracy()}, {"loss", loss()}};
  if (const auto area = auc()) json["auc"] = *area;
  json["calibration_error"] = calibration_error();
  Json calibration = Json::array();
  for (std::size_t i = 0; i < kBins; ++i)
    if (const Bin& bin = bins_[i]; bin.count > 0)
      calibration.push_back({{"from", static_cast<double>(i) / kBins},
                             {"count", bin.count},
                             {"probability", bin.probability / static_cast<double>(bin.count)},
                             {"accuracy", fraction_of(bin.right, bin.count)}});
  json["calibration"] = std::move(calibration);
  Json classes = Json::array(), confusion = Json::array();
  for (std::size_t truth = 0; truth < classes_; ++truth) {
    const std::int64_t all = of_class(truth), answered = answers(truth), right = confused(truth, truth);
    classes.push_back({{"class", names.at(truth)},
                       {"count", all},
                       {"accuracy", fraction_of(right, all)},
                       {"precision", fraction_of(right, answered)}});
    Json row = Json::array();
    for (std::size_t answer = 0; answer < classes_; ++answer) row.push_back(confused(truth, answer));
    confusion.push_back(std::move(row));
  }
  json["classes"] = std::move(classes);
  json["confusion"] = std::move(confusion);
  return json;
}

}  // namespace veche
