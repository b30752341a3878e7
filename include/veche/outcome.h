#pragma once

#include <cmath>
#include <limits>

namespace veche {

// What a test tells of one sample of a classification.
struct Outcome {
  float loss = std::numeric_limits<float>::quiet_NaN();  // not a number: the learner does not tell
  float margin = 0;      // of two classes: the logit of class 1 less that of class 0
  bool correct = false;  // whether the answer is the label

  bool is_told() const { return !std::isnan(loss); }
};

}  // namespace veche
