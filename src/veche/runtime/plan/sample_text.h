#pragma once

#include <functional>
#include <string>

#include "veche/data/sets/source.h"
#include "veche/learner.h"

namespace veche {

// Lets a learner's model continue the first words of the test text: the same model always writes
// the same. Empty where the data are no text. What it returns is empty if the model writes no
// texts.
std::function<std::string(Learner& learner)> plan_sample(const DataSource& source);

}  // namespace veche
