#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "veche/errors.h"
#include "veche/runtime/inference/text_writer.h"
#include "veche/runtime/inference/trained_model.h"

namespace veche::cli {
namespace {

struct GenerateArguments {
  std::string place, prompt;
  int node = -1;
  int threads = 0;
  int tokens = 300;
  Sampling how;
  bool json = false;
};

void generate(const GenerateArguments& arguments, bool has_node) {
  const Interrupts interrupts;
  TrainedModel model(arguments.place, has_node ? std::optional(NodeId{arguments.node}) : std::nullopt,
                     arguments.threads > 0 ? arguments.threads : usable_cores());
  TextWriter writer = model.begin_text(arguments.prompt, arguments.how);
  for (const std::string& sentence : model.notices()) tell("note: {}\n", one_line(sentence));

  const auto start = std::chrono::steady_clock::now();
  std::string text = arguments.prompt;
  if (!arguments.json) answer_text(text);
  const auto take = [&](const std::string& part) {
    text += part;
    if (arguments.json) return;
    answer_text(part);
    if (!part.empty()) flush_output();  // the text appears as it is written
  };
  for (int i = 0; i < arguments.tokens && !interrupts.asked(); ++i) take(writer.next());
  take(writer.rest());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (arguments.json) {
    answer_json(nlohmann::ordered_json{{"model", model.name()},
                                       {"step", model.step()},
                                       {"prompt", arguments.prompt},
                                       {"text", text},
                                       {"tokens", writer.tokens()},
                                       {"seconds", seconds}});
    return;
  }
  answer_text("\n");
  flush_output();
  tell("{} tokens in {:.2f} s by {} of {} at step {}\n", with_commas(writer.tokens()), seconds, model.who(),
       one_line(model.name()), model.step());
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a trained language model");
  auto arguments = std::make_shared<GenerateArguments>();
  command->add_option("PLACE", arguments->place, "a run's folder, or weights from `veche model export`")
      ->type_name("PLACE")
      ->required();
  command->add_option("PROMPT", arguments->prompt, "the beginning of the text")
      ->type_name("TEXT")
      ->required();
  command->add_option("--tokens", arguments->tokens, "number of tokens to write")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--temperature", arguments->how.temperature,
                   "above 1 more varied, below 1 more probable; 0: always the most probable token")
      ->capture_default_str();
  command
      ->add_option("--top-k", arguments->how.top_k, "draw only from the K most probable tokens; 0: from all")
      ->capture_default_str();
  command->add_option("--seed", arguments->how.seed, "the same seed writes the same text")
      ->capture_default_str();
  CLI::Option* node =
      command->add_option("--node", arguments->node, "use the model of this node; default: the average");
  command->add_option("--threads", arguments->threads, "computing threads; default: all cores")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--json", arguments->json, "one JSON object at the end");
  command->callback([arguments, node] { generate(*arguments, node->count() > 0); });
}

}  // namespace veche::cli
