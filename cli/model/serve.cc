#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model/serving.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "web/serve/service.h"
#include "web/serve/text_service.h"

namespace veche::cli {
namespace {

struct ServeArguments {
  std::string place;
  int node = -1;
  int threads = 0;
  ServingArguments where;
};

void serve_model(const ServeArguments& arguments, const web::Guard& guard, web::HttpHandler& service,
                 const TrainedModel& model, const std::atomic<bool>& stopped) {
  for (const std::string& sentence : model.notices()) tell("note: {}\n", one_line(sentence));
  serve_until_stopped(
      arguments.where, guard, {}, service,
      fmt::format("{} of {} at step {} ({}, {} parameters)", model.who(), one_line(model.name()),
                  model.step(), model.model(), with_commas(model.parameters())),
      stopped);
}

void serve(const ServeArguments& arguments, bool has_node) {
  const Interrupts interrupts;
  const web::Guard guard = guard_of(arguments.where);
  const std::optional<NodeId> node = has_node ? std::optional(NodeId{arguments.node}) : std::nullopt;
  const int threads = arguments.threads > 0 ? arguments.threads : usable_cores();
  if (continues_texts(arguments.place)) {
    web::TextService service(arguments.place, node, threads, guard);
    return serve_model(arguments, guard, service, service.model(), interrupts.asked());
  }
  web::PredictionService service(arguments.place, {.node = node, .threads = threads, .limits = {}}, guard);
  serve_model(arguments, guard, service, service.model(), interrupts.asked());
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Serve a trained model over HTTP, with a page to try it");
  auto arguments = std::make_shared<ServeArguments>();
  command->add_option("PLACE", arguments->place, "a run's folder, or weights from `veche model export`")
      ->type_name("PLACE")
      ->required();
  CLI::Option* node =
      command->add_option("--node", arguments->node, "use the model of this node; default: the average");
  command->add_option("--threads", arguments->threads, "threads per answer; default: all cores")
      ->check(CLI::Range(1, 1024));
  add_serving_options(*command, arguments->where, 8080);
  command->callback([arguments, node] { serve(*arguments, node->count() > 0); });
}

}  // namespace veche::cli
