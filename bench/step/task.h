#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "veche/model/zoo.h"

namespace veche {

// A new learner and batches of random samples, also as files for the program we compare with. The
// destructor deletes the files.
class TrainingTask {
 public:
  TrainingTask(const ModelSpec& spec, int batch_size);
  ~TrainingTask();
  TrainingTask(const TrainingTask&) = delete;
  TrainingTask& operator=(const TrainingTask&) = delete;

  Learner& learner() const { return *learner_; }
  // Cycles through the same batches.
  Batch batch(std::uint64_t step) const;
  std::uint64_t batches() const;  // number of different batches
  // The paths {"weights", "buffers", "images", "labels"}: parameters and buffers tensor by tensor
  // in PyTorch's order, with initial values or those at the last write; images NCHW, all float32,
  // labels int64.
  void write_model();
  const nlohmann::json& files() const { return files_; }

 private:
  void write(const std::string& name, const void* data, std::size_t bytes);

  const Shape shape_;
  const std::size_t size_;
  std::unique_ptr<Learner> learner_;
  std::vector<float> images_;
  std::vector<std::int64_t> labels_;
  std::filesystem::path folder_;
  nlohmann::json files_;
};

}  // namespace veche
