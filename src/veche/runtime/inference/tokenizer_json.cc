#include "veche/runtime/inference/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "veche/base/text/hex.h"
#include "veche/errors.h"

namespace veche {

nlohmann::json tokenizer_json(const Tokenizer& tokenizer) {
  nlohmann::json json{{"kind", word_of(tokenizer.kind())}};
  if (tokenizer.kind() == TokenizerKind::characters)
    json["symbols"] = tokenizer.content();
  else if (!tokenizer.content().empty())
    json["model"] = to_hex(tokenizer.content());  // no text
  return json;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const nlohmann::json& json) {
  const auto kind = json.at("kind").get<std::string>();
  if (json.contains("symbols")) return make_tokenizer(kind, json.at("symbols").get<std::string>());
  const auto model = from_hex(json.value("model", ""));
  if (!model) throw RequestError("its tokenizer is damaged");
  return make_tokenizer(kind, *model);
}

}  // namespace veche
