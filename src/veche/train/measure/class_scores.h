#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/batch.h"
#include "veche/channel.h"
#include "veche/dataset.h"
#include "veche/measures.h"
#include "veche/outcome.h"

namespace veche {

// The area under the ROC curve: the part of all pairs of a positive and a negative whose positive
// has the higher score; equal scores count half. 0.5 if there is no pair. Reorders its arguments.
double area_under_curve(std::vector<float>& positive, std::vector<float>& negative);

// Measures of classes that are no sums of losses: collects the outcomes of a node's test samples,
// and joins those of all nodes.
class ClassScores {
 public:
  // Collects nothing where targets are not classes, or where there are more than kMostClasses.
  explicit ClassScores(const Dataset& data);

  static constexpr int kMostClasses = 100;
  bool collects() const { return !classes_.empty(); }

  void add(const Batch& batch, std::span<const Outcome> outcomes);
  // Collective: adds those of all nodes. Every node gets the same classes and AUC, or none of them
  // if a learner did not tell the outcome of a sample.
  void complete(Channel& channel, TestResult& result) &&;
  // Without other nodes.
  void complete(TestResult& result) &&;

 private:
  void gather(Channel& channel);

  std::vector<ClassScore> classes_;
  std::uint64_t untold_ = 0;                // samples
  std::vector<float> positive_, negative_;  // margins of class 1 and of class 0, if there are two classes
};

}  // namespace veche
