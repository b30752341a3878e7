#include "veche/runtime/inference/transformers_config.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "veche/base/files/files.h"
#include "veche/config.h"
#include "veche/model/gpt_size.h"

namespace veche {
namespace {

constexpr const char* kMark = "veche";  // the key by which our own file is known

bool is_ours(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const auto content = nlohmann::json::parse(stream, nullptr, false);
  return content.is_object() && content.contains(kMark);
}

}  // namespace

std::string transformers_config(const std::string& model_keys, const ModelInput& input,
                                const std::string& version) {
  if (input.task != Task::language) return {};
  const ModelSettings model = Config::from_text(model_keys, "[model]").resolve().model;
  const std::optional<GptSize> size = gpt_size(model);
  if (!size) return {};
  const double dropout = model.dropout.value_or(0);
  // A model without biases has none in its file: Transformers begins them with zeros, which changes
  // nothing. The ids of special symbols are those of the published vocabulary unless they are null.
  return nlohmann::ordered_json{{"architectures", {"GPT2LMHeadModel"}},
                                {"model_type", "gpt2"},
                                {"vocab_size", input.classes},
                                {"n_positions", size->context},
                                {"n_ctx", size->context},
                                {"n_embd", size->width},
                                {"n_layer", size->layers},
                                {"n_head", size->heads},
                                {"n_inner", nullptr},
                                {"activation_function", "gelu_new"},
                                {"layer_norm_epsilon", 1e-5},
                                {"initializer_range", 0.02},
                                {"attn_pdrop", dropout},
                                {"embd_pdrop", dropout},
                                {"resid_pdrop", dropout},
                                {"tie_word_embeddings", size->tied},
                                {"bos_token_id", nullptr},
                                {"eos_token_id", nullptr},
                                {"torch_dtype", "float32"},
                                {kMark, version}}
      .dump(2);
}

std::string write_transformers_config(const std::filesystem::path& weights, const std::string& config) {
  if (config.empty() || weights.filename() != "model.safetensors") return {};
  const std::filesystem::path file = weights.parent_path() / "config.json";
  if (std::filesystem::exists(file) && !is_ours(file))
    return fmt::format(
        "{} was there already and stays; Transformers needs one of this model: export into another folder",
        file.string());
  write_file(file, config + "\n");
  return {};
}

}  // namespace veche
