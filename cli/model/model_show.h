#pragma once

#include <string>
#include <vector>

#include "cli/model/model_stages.h"

namespace veche::cli {

// `veche model ls`: every model with what it costs.
void list_all_models(bool json);

struct ShowWords {
  std::string name;
  std::vector<std::string> assignments;
  std::string input;  // empty: what the model is usually given
  bool json = false;
  StagesWords stages;  // where somebody asks for a cut
};

// `veche model show`: every tensor of one.
void show_model(const ShowWords& words);

}  // namespace veche::cli
