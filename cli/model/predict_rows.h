#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "veche/runtime/inference/trained_model.h"

namespace veche::cli {

struct PredictRows {
  std::vector<std::string> files;  // CSV
  std::string out;                 // answers as CSV; empty: they are printed
  bool json = false;
  std::size_t top = 3;
};

// `veche predict` for the rows of tables: prints the answers or writes them to a file, and adds
// them to `json`. Where the file has the target of a row, the answer is assessed. Rows that cannot
// be used are named; returns their number.
std::size_t predict_rows(TrainedModel& model, const PredictRows& request, nlohmann::ordered_json& json);

// The assessment of a model of numbers.
void add_error(Score& score, double truth, double answer);
nlohmann::ordered_json to_json(const Score& score);
std::string describe(const Score& score);

}  // namespace veche::cli
