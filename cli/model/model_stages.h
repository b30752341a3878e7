#pragma once

#include <string>
#include <vector>

#include "veche/model_spec.h"

namespace veche::cli {

struct StagesArguments {
  int stages = 0;             // 0: not asked for
  std::vector<double> speed;  // relative, of each stage; empty: equal
  int micro_batches = 0;      // 0: as many as a run would have
  int batch = 32;
  std::string cut = "time";
  std::string schedule = "1f1b";
};

// `veche model show --stages`: where the model would be cut, and the costs of each stage. Measures
// the blocks on this machine.
void show_stages(const ModelSpec& model, const StagesArguments& arguments, bool json);

}  // namespace veche::cli
