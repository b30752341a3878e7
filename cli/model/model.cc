#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model/model_show.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/runtime/config/key_words.h"
#include "veche/runtime/inference/model_export.h"

namespace veche::cli {
namespace {

struct ExportArguments {
  std::string run, out;
  int node = -1;
  bool average = false;
  bool onnx = false;
};

void export_it(const ExportArguments& arguments, const CLI::Option& node) {
  ExportRequest request{arguments.run, arguments.out, {}, VECHE_VERSION};
  if (node.count() > 0) request.node = NodeId{arguments.node};
  const bool onnx = arguments.onnx || request.out.extension() == ".onnx";
  const ExportResult result = onnx ? export_onnx(request) : export_model(request);
  for (const std::string& sentence : result.notices) tell("note: {}\n", one_line(sentence));
  tell("{}: {} of step {}, {} tensors, {}\n", arguments.out, result.who, result.step, result.tensors,
       bytes(static_cast<double>(result.bytes)));
}

void add_export(CLI::App& model) {
  CLI::App* command =
      model.add_subcommand("export", "Write the newest checkpoint of a run as a safetensors or ONNX file");
  auto arguments = std::make_shared<ExportArguments>();
  command
      ->add_option("run", arguments->run,
                   "the run's folder, such as runs/NAME; for ONNX also a file of weights")
      ->type_name("PLACE")
      ->required();
  command->add_option("out", arguments->out, "the file, such as model.safetensors")
      ->type_name("FILE")
      ->required();
  CLI::Option* node = command->add_option("--node", arguments->node, "export the model of this node");
  command->add_flag("--average", arguments->average, "the average over the nodes (default)")->excludes(node);
  command->add_flag("--onnx", arguments->onnx, "write ONNX; implied by a file name *.onnx");
  command->callback([arguments, node] { export_it(*arguments, *node); });
}

void add_ls(CLI::App& model) {
  CLI::App* command = model.add_subcommand("ls", "List the models with their parameters, FLOPs and bytes");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object");
  command->callback([json] { list_all_models(*json); });
}

void add_show(CLI::App& model) {
  CLI::App* command = model.add_subcommand("show", "Print the layers of a model");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("name", arguments->name, "the model")->type_name("MODEL")->required();
  command->add_option("--set", arguments->assignments, "model.key=value, as for training")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--input", arguments->input, "channels x height x width of a sample, such as 3x32x32");
  StagesArguments& stages = arguments->stages;
  CLI::Option* cut =
      command->add_option("--stages", stages.stages, "cut the model into this many stages and print the cut");
  command->add_option("--speed", stages.speed, "relative speeds of the stages' machines, such as 1,2,1")
      ->delimiter(',')
      ->needs(cut);
  command->add_option("--batch", stages.batch, "samples per step; default 32")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(cut);
  command->add_option("--micro-batches", stages.micro_batches, "micro-batches per batch; default 4 per stage")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(cut);
  command->add_option("--cut", stages.cut, "criterion: time (default), parameters or layers")
      ->check(CLI::IsMember(words_of<PipelineCut::By>()))
      ->needs(cut);
  command->add_option("--schedule", stages.schedule, "1f1b (default), gpipe or naive")
      ->check(CLI::IsMember(words_of<PipelineSchedule>()))
      ->needs(cut);
  command->add_flag("--json", arguments->json, "one JSON object");
  command->callback([arguments] { show_model(*arguments); });
}

}  // namespace

void add_model(CLI::App& app) {
  CLI::App* command = app.add_subcommand("model", "List, show and export models");
  command->require_subcommand(1);
  add_ls(*command);
  add_show(*command);
  add_export(*command);
}

}  // namespace veche::cli
