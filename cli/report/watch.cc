#include "cli/report/watch.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "web/watch/service.h"

namespace veche::cli {
namespace {

struct WatchArguments {
  std::vector<std::string> runs;
  ServingArguments where;
};

void watch(const WatchArguments& arguments) {
  const Interrupts interrupts;
  const web::Guard guard = guard_of(arguments.where);
  web::WatchService service({arguments.runs.begin(), arguments.runs.end()}, guard);
  const std::string places = one_line(fmt::format("{}", fmt::join(arguments.runs, ", ")));
  if (service.empty()) tell("note: there is no run in {} yet; those that begin are shown\n", places);
  serve_until_stopped(arguments.where, guard, web::WatchService::http_options(), service,
                      fmt::format("the live page of {}", places), interrupts.asked());
}

class LivePage : public RunObserver {
 public:
  LivePage(RunObserver& next, const ServingArguments& where) : next_(next), where_(where) {}
  void on_start(const RunInfo& info) override {
    if (info.rank == 0 && !info.folder.empty()) serve(info.folder);
    next_.on_start(info);
  }
  void on_notice(const std::string& sentence) override { next_.on_notice(sentence); }
  void on_progress(const Progress& progress) override { next_.on_progress(progress); }
  void on_measuring() override { next_.on_measuring(); }
  void on_testing(double part) override { next_.on_testing(part); }
  void on_evaluation(const Evaluation& evaluation) override { next_.on_evaluation(evaluation); }

 private:
  void serve(const std::filesystem::path& folder) try {
    const web::Guard guard = guard_of(where_);
    service_ = std::make_unique<web::WatchService>(std::vector{folder}, guard);
    server_ = start_serving(where_, web::WatchService::http_options(), *service_);
    tell("live page: {}\n", guard.address(server_->port()));
  } catch (const std::exception& error) {
    next_.on_notice(fmt::format("there is no live page: {}", error.what()));
  }

  RunObserver& next_;
  const ServingArguments where_;
  std::unique_ptr<web::WatchService> service_;
  std::unique_ptr<web::HttpServer> server_;  // declared after the service, which must outlive it
};

}  // namespace

std::unique_ptr<RunObserver> with_live_page(RunObserver& next, const ServingArguments& where) {
  return std::make_unique<LivePage>(next, where);
}

void add_watch(CLI::App& app) {
  CLI::App* command = app.add_subcommand("watch", "Serve the live page of running or finished runs");
  auto arguments = std::make_shared<WatchArguments>();
  command->add_option("RUN", arguments->runs, "run folders, or a folder of runs, such as runs")
      ->type_name("RUN")
      ->required();
  add_serving_options(*command, arguments->where, 8081);
  command->callback([arguments] { watch(*arguments); });
}

}  // namespace veche::cli
