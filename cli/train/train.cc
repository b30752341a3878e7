#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/arguments/shorthands.h"
#include "cli/commands.h"
#include "cli/process/interrupt.h"
#include "cli/process/limits.h"
#include "cli/process/reporter.h"
#include "cli/report/watch.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/text.h"
#include "cli/train/compare.h"
#include "cli/train/dry_run.h"
#include "cli/train/job_view.h"
#include "cli/train/run_table.h"
#include "veche/comm/mpi/launch.h"
#include "veche/errors.h"
#include "veche/runtime/config/config_page.h"
#include "veche/runtime/config/resumed_config.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {
namespace {

constexpr int kInterrupted = 130;  // what shells expect of a program that ended on Ctrl-C; any interrupt here

struct TrainArguments {
  std::string config;
  std::vector<std::string> assignments;
  std::string resume;
  bool restart = false;
  bool json = false;
  bool quiet = false;
  bool keys = false;
  std::vector<std::string> compare;
  int repeat = 1;
  bool simulate = false;
  bool watch = false;
  bool dry_run = false;
  ServingArguments where;  // the live page
};

Config read_config(const TrainArguments& arguments) {
  if (arguments.resume.empty()) {
    Config config = arguments.config.empty() ? Config{} : Config::from_file(arguments.config);
    for (const std::string& assignment : arguments.assignments) config.set(assignment);
    if (arguments.simulate) config.set("cluster.transport=simulated");
    return config;
  }
  if (!arguments.config.empty())
    throw RequestError("--resume takes the configuration from the run's folder; leave out " +
                       arguments.config);
  return resumed_config(arguments.resume, arguments.assignments);
}

void print_what_next(const RunResult& result) {
  const std::string folder = result.info.folder.string();
  tell("\nNext:\n");
  tell("  veche train --set strategy.name=allreduce          the same with all-reduce\n");
  tell("  veche train --set topology.graph=torus:3x3         nine nodes on a torus\n");
  tell("  veche train {}/config.toml --set run.seed=2 --set run.name={}-2\n", folder,
       result.info.folder.filename().string());
}

int train(const TrainArguments& arguments, const std::atomic<bool>& interrupted, Job* job,
          ProgressView& view) {
  const bool leads = job == nullptr || job->rank() == 0;
  TrainingRequest request;
  run_collectively(job, [&] { request.settings = settings_for(read_config(arguments), job); });
  view.in_virtual_time(request.settings.is_simulated());
  request.job = job;
  request.resume = arguments.resume;
  request.restart = arguments.restart;
  std::unique_ptr<RunObserver> page;
  if (arguments.watch) page = with_live_page(view, arguments.where);
  request.observer = page ? page.get() : &view;
  request.interrupted = &interrupted;
  const RunResult result = run_training(request);
  if (!leads) return result.last.stopped == StopReason::interrupted ? kInterrupted : 0;
  if (arguments.json) answer_json(summary(result));
  flush_output();
  if (result.last.stopped == StopReason::interrupted) {
    tell("\nStopped after step {} of {}, saved. Go on with:\n  {}\n", result.last.step, result.info.steps,
         resume_command(result.info.folder, job));
    return kInterrupted;
  }
  if (!arguments.quiet) {
    print_run(result);
    if (!arguments.json && !arguments.simulate) print_what_next(result);
  }
  return 0;
}

int compare_runs(const TrainArguments& arguments, const std::atomic<bool>& interrupted, Job* job,
                 ProgressView& view) {
  if (!arguments.resume.empty() || arguments.restart)
    throw RequestError("--compare starts new runs; leave out --resume and --restart");
  if (arguments.watch)
    throw RequestError(
        "--watch shows one run: watch a comparison with `veche watch` and the folder of its runs");
  Config config;
  run_collectively(job, [&] { config = read_config(arguments); });
  return compare({.config = config,
                  .variants = arguments.compare,
                  .repeat = arguments.repeat,
                  .json = arguments.json,
                  .quiet = arguments.quiet,
                  .interrupted = &interrupted,
                  .job = job},
                 view);
}

// Prints the plan of the run.
int plan_run(const TrainArguments& arguments) {
  if (!arguments.resume.empty() || arguments.restart)
    throw RequestError("--dry-run plans a new run; leave out --resume and --restart");
  if (!arguments.compare.empty()) throw RequestError("--dry-run plans one run; leave out --compare");
  if (arguments.watch) throw RequestError("--dry-run has no live page; leave out --watch");
  if (!arguments.simulate && mpi_launch())
    throw RequestError(
        "--dry-run plans in one process: start it without mpirun or srun, and cluster.nodes says how many "
        "nodes there are");
  const Interrupts interrupts;
  const nlohmann::ordered_json plan =
      plan_of(settings_for(read_config(arguments), nullptr), interrupts.asked());
  if (arguments.json)
    answer_json(plan);
  else
    answer_text(plan_text(plan));
  return 0;
}

// A failure is known to all ranks, and rank 0 prints it before any rank ends.
template <class Work>
int in_job(const TrainArguments& arguments, Work work) {
  const auto launch = arguments.simulate ? std::nullopt : mpi_launch();
  // MPICH ends all ranks at once when one dies, so no rank could print anything.
  std::optional<Reporter> reporter;
  if (launch && launch->kind == MpiKind::mpich && is_first_rank())
    reporter.emplace(launcher_words(launch->size) + " veche train --resume");
  std::optional<Interrupts> interrupts;  // outlives the job: launchers repeat their signal until the end
  const std::unique_ptr<Job> job = launch ? join_mpi_job(*launch) : nullptr;
  interrupts.emplace(job != nullptr);
  if (job == nullptr) {
    ProgressView view(arguments.quiet);
    return work(arguments, interrupts->asked(), nullptr, view);
  }
  JobView view(arguments.quiet, *job, reporter ? &*reporter : nullptr);
  try {
    int code = 0;
    run_collectively(job.get(), [&] { code = work(arguments, interrupts->asked(), job.get(), view); });
    return code;
  } catch (const std::exception& error) {
    const bool wrong = dynamic_cast<const RequestError*>(&error) != nullptr;
    if (job->rank() == 0) view.tell_failure(sentence_of(error));
    try {
      job->exchange("", Time(5));
    } catch (const Error&) {
      // The other ranks hang. The launcher ends them with this process.
    }
    return wrong ? kWrongRequest : kFailed;
  }
}

}  // namespace

namespace {

void take_configs(TrainArguments& arguments) {
  take_config(arguments.assignments, arguments.config);
  take_config(arguments.compare, arguments.config);
}

CLI::App* add_runs(CLI::App& app, const std::string& name, const std::string& what,
                   const std::shared_ptr<TrainArguments>& arguments) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("CONFIG", arguments->config, "a TOML file")->type_name("FILE");
  command->add_option("--set", arguments->assignments, "section.key=value, any number of times")
      ->type_name("KEY=VALUE");
  command->add_option("--resume", arguments->resume, "resume the run in this folder")->type_name("RUN");
  command->add_flag("--restart", arguments->restart,
                    "with --resume: start over in this folder; its contents move to aside-1/");
  command->add_flag("--json", arguments->json, "print the summary as one JSON object on standard output");
  command->add_flag("-q,--quiet", arguments->quiet, "show no progress and no table");
  command
      ->add_option("--compare", arguments->compare,
                   "strategy=allreduce,local-sgd:8 or compress=none,fp16 or section.key=a,b: run each in "
                   "turn and print one table; repeated: every combination")
      ->type_name("VARIANTS");
  command
      ->add_option("--repeat", arguments->repeat,
                   "with --compare: number of runs per variant, with consecutive seeds")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--dry-run", arguments->dry_run,
                    "print the plan and what the first steps cost (bytes, memory, time); write nothing");
  add_shorthands(*command, arguments->assignments);
  return command;
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* const command =
      add_runs(app, "train", "Train; without arguments, the demo: four nodes on a ring", arguments);
  command->add_flag("--keys", arguments->keys, "print every configuration key and exit");
  command->add_flag("--watch", arguments->watch, "serve the live page during the run");
  add_serving_options(*command, arguments->where, 8081);
  command->callback([arguments, &exit_code] {
    take_configs(*arguments);
    if (arguments->keys)
      answer_text(config_page());
    else if (arguments->dry_run)
      exit_code = plan_run(*arguments);
    else if (!arguments->compare.empty())
      exit_code = in_job(*arguments, compare_runs);
    else
      exit_code = in_job(*arguments, train);
  });
}

void add_simulate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TrainArguments>();
  arguments->simulate = true;
  CLI::App* const command = add_runs(
      app, "simulate", "The same run in virtual time, on the network that [network] describes", arguments);
  command->callback([arguments, &exit_code] {
    take_configs(*arguments);
    exit_code = arguments->dry_run ? plan_run(*arguments)
                                   : in_job(*arguments, arguments->compare.empty() ? train : compare_runs);
  });
}

}  // namespace veche::cli
