#include "veche/model/gpt_weights.h"

#include <gtest/gtest.h>

#include <cstring>

namespace veche {
namespace {

using Names = std::vector<std::string>;

// The tensors that are left of a file of floats, for a model with these parameters.
Names accepted(const std::vector<std::pair<std::string, std::vector<float>>>& tensors, const Names& wanted) {
  SafetensorsWriter writer;
  for (const auto& [name, numbers] : tensors)
    writer.add(name, {static_cast<std::int64_t>(numbers.size())}, numbers);
  std::vector<std::byte> bytes;
  for (const auto part : writer.parts()) bytes.insert(bytes.end(), part.begin(), part.end());
  std::vector<TensorLayout> parameters;
  for (const std::string& name : wanted) parameters.push_back({name, {1}, {1}, 0});
  Safetensors file = parse_safetensors(bytes, "file");
  accept_published_gpt(file, parameters, "file");
  Names left;
  for (const StoredTensor& tensor : file.tensors) left.push_back(tensor.name);
  return left;
}

const Names kTied{"transformer.wte.weight", "transformer.h.0.attn.c_attn.weight"};

TEST(GptWeights, TakeTheNamesOfThePublishedFile) {
  EXPECT_EQ(accepted({{"wte.weight", {1}}, {"h.0.attn.c_attn.weight", {2}}, {"h.0.attn.bias", {1}}}, kTied),
            (Names{"transformer.h.0.attn.c_attn.weight", "transformer.wte.weight"}));
}

TEST(GptWeights, LeaveOutTheRepeatedEmbeddingOnly) {
  EXPECT_EQ(accepted({{"transformer.wte.weight", {1}}, {"lm_head.weight", {1}}}, kTied),
            Names{"transformer.wte.weight"});
  const Names both{"lm_head.weight", "transformer.wte.weight"};
  EXPECT_EQ(accepted({{"transformer.wte.weight", {1}}, {"lm_head.weight", {2}}}, kTied), both);
  EXPECT_EQ(accepted({{"transformer.wte.weight", {1}}, {"lm_head.weight", {1}}}, both), both);
}

TEST(GptWeights, LeaveOutBiasesOfZero) {
  const Names names{"transformer.h.0.attn.c_attn.bias", "transformer.wte.weight"};
  EXPECT_EQ(accepted({{names[0], {0, 0}}, {names[1], {1}}}, kTied), Names{"transformer.wte.weight"});
  EXPECT_EQ(accepted({{names[0], {0, 1}}, {names[1], {1}}}, kTied), names);
  EXPECT_EQ(accepted({{names[0], {0, 0}}, {names[1], {1}}}, names), names);
}

TEST(GptWeights, LeaveOtherModelsAlone) {
  EXPECT_EQ(accepted({{"h.0.attn.bias", {1}}}, {"fc1.weight"}), Names{"h.0.attn.bias"});
}

}  // namespace
}  // namespace veche
