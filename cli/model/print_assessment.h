#pragma once

#include <string>
#include <vector>

#include "veche/runtime/inference/assessment.h"

namespace veche::cli {

// For people: right answers, a row per class, the confusion matrix of few classes, calibration.
void print_assessment(const Assessment& found, const std::vector<std::string>& names);

}  // namespace veche::cli
