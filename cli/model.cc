#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/text.h"
#include "veche/model/zoo.h"

namespace veche::cli {
namespace {

void list(bool json) {
  const auto models = list_models();
  if (json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ModelInfo& model : models)
      rows.push_back(
          {{"name", model.name}, {"parameters", model.parameters}, {"description", model.description}});
    fmt::print("{}\n", nlohmann::ordered_json{{"models", rows}}.dump());
    return;
  }
  Table table({"model", "parameters"});
  for (const ModelInfo& model : models)
    table.row({fmt::format("{:<10} {}", model.name, model.description),
               model.parameters == 0 ? "yours" : with_commas(static_cast<std::uint64_t>(model.parameters))});
  fmt::print("{}", table.text());
}

}  // namespace

void add_model(CLI::App& app) {
  CLI::App* command = app.add_subcommand("model", "The models that can be trained");
  command->require_subcommand(1);
  CLI::App* ls = command->add_subcommand("ls", "List them with their numbers of parameters");
  auto json = std::make_shared<bool>(false);
  ls->add_flag("--json", *json, "one JSON object");
  ls->callback([json] { list(*json); });
}

}  // namespace veche::cli
