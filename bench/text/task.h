#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veche/model/gpt_size.h"
#include "veche/model/zoo.h"
#include "veche/optimizer.h"

namespace veche {

// A new language model and batches of made-up text, also as files for the program we compare with.
// The destructor deletes the files.
class TextTask {
 public:
  TextTask(const std::string& model, std::size_t batch);
  ~TextTask();
  TextTask(const TextTask&) = delete;
  TextTask& operator=(const TextTask&) = delete;

  std::size_t context() const { return spec_.input.size(); }
  // What makes the peer's model (peer.py).
  const nlohmann::json& request() const { return request_; }

  // The same calls as in the training loop; returns the losses. Cycles through the same batches.
  std::vector<double> train(int steps);
  std::vector<std::int32_t> prompt(std::size_t tokens) const;
  // Continues a new text by the likeliest token, `count` times.
  std::vector<std::int32_t> go_on(std::span<const std::int32_t> prompt, std::size_t count);

 private:
  void write(const std::string& name, const void* data, std::size_t bytes);

  const std::size_t batch_;
  ModelSpec spec_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::int32_t> tokens_;
  std::filesystem::path folder_;
  nlohmann::json request_;
  std::uint64_t step_ = 0;
};

}  // namespace veche
