#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model/serving.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/machine/cores.h"
#include "web/serve/service.h"

namespace veche::cli {
namespace {

struct ServeWords {
  std::string place;
  int node = -1;
  int threads = 0;
  ServingWords where;
};

void serve(const ServeWords& words, bool has_node) {
  const Interrupts interrupts;
  web::Guard guard = guard_of(words.where);
  web::PredictionService service(words.place,
                                 {.node = has_node ? std::optional(NodeId{words.node}) : std::nullopt,
                                  .threads = words.threads > 0 ? words.threads : usable_cores(),
                                  .limits = {}},
                                 guard);
  const TrainedModel& model = service.model();
  for (const std::string& sentence : model.notices()) tell("note: {}\n", one_line(sentence));
  serve_until_stopped(
      words.where, guard, {}, service,
      fmt::format("{} of {} at step {} ({}, {} parameters)", model.who(), one_line(model.name()),
                  model.step(), model.model(), with_commas(model.parameters())),
      interrupts.asked());
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Serve predictions over HTTP, with a page to try it");
  auto words = std::make_shared<ServeWords>();
  command->add_option("PLACE", words->place, "a run's folder, or weights from `veche model export`")
      ->type_name("PLACE")
      ->required();
  CLI::Option* node =
      command->add_option("--node", words->node, "use the model of this node; default: the average");
  command->add_option("--threads", words->threads, "threads per answer; default: all cores")
      ->check(CLI::Range(1, 1024));
  add_serving_options(*command, words->where, 8080);
  command->callback([words, node] { serve(*words, node->count() > 0); });
}

}  // namespace veche::cli
