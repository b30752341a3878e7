#pragma once

#include <string>
#include <vector>

#include "cli/model/model_stages.h"

namespace veche::cli {

// `veche model ls`: every model and its costs.
void list_all_models(bool json);

struct ShowArguments {
  std::string name;
  std::vector<std::string> assignments;
  std::string input;  // empty: the usual input of the model
  bool json = false;
  StagesArguments stages;  // of --stages
};

// `veche model show`: every tensor of a model.
void show_model(const ShowArguments& arguments);

}  // namespace veche::cli
