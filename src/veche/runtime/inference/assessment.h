#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace veche {

// Quality of predictions, added one by one: the confusion matrix, and calibration, that is whether
// predictions of a probability p are right in a fraction p of the cases.
class Assessment {
 public:
  static constexpr std::size_t kBins = 10;  // of the probability of the answer, of equal width
  struct Bin {
    std::int64_t count = 0;
    std::int64_t right = 0;
    double probability = 0;  // their sum
  };

  explicit Assessment(std::size_t classes);
  void add(std::size_t label, std::span<const float> probabilities);

  std::int64_t count() const { return count_; }
  double accuracy() const;
  double loss() const;  // cross entropy
  // The area under the ROC curve of class 1; none unless there are two classes and both have samples.
  std::optional<double> auc() const;
  // The number of samples of class `truth` that were predicted as `answer`.
  std::int64_t confused(std::size_t truth, std::size_t answer) const {
    return confusion_[truth * classes_ + answer];
  }
  std::int64_t of_class(std::size_t truth) const;
  std::int64_t answers(std::size_t answer) const;
  const std::vector<Bin>& bins() const { return bins_; }
  // Expected calibration error: |accuracy - mean probability| of the bins, weighted by their
  // counts.
  double calibration_error() const;

  // `names`: one per class.
  nlohmann::ordered_json to_json(const std::vector<std::string>& names) const;

 private:
  const std::size_t classes_;
  std::vector<std::int64_t> confusion_;
  std::vector<Bin> bins_{kBins};
  std::int64_t count_ = 0;
  std::int64_t right_ = 0;
  double loss_ = 0;                         // the sum
  std::vector<float> positive_, negative_;  // probabilities of class 1, where there are two classes
};

// The class with the highest probability; the first of equal ones.
std::size_t best_of(std::span<const float> probabilities);

}  // namespace veche
