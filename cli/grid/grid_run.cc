#include "cli/grid/grid_run.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/train/run_table.h"
#include "veche/comm/grid/grid.h"
#include "veche/errors.h"
#include "veche/runtime/config/member_config.h"
#include "veche/runtime/record/provisional_folder.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/grid_training.h"

namespace veche::cli {
namespace {

constexpr int kLeft = 130;  // what shells expect of a program that ended on Ctrl-C

// Shows the run, and reports the progress of this member to the others.
class MemberView : public ProgressView {
 public:
  using ProgressView::ProgressView;
  void on_view(const RunInfo& info) override {
    info_ = info;
    ProgressView::on_view(info);
  }
  void on_progress(const Progress& progress) override {
    const double share = static_cast<double>(nodes_here) / info_.nodes;
    if (member != nullptr)
      member->report(progress.step, progress.images_per_second * share, info_.epoch(progress.step));
    ProgressView::on_progress(progress);
  }
  grid::Grid* member = nullptr;
  int nodes_here = 1;

 private:
  RunInfo info_;
};

grid::GridOptions options_of(const GridArguments& arguments, const Settings& settings, MemberView& view,
                             const Interrupts& interrupts) {
  grid::GridOptions options = grid_options(settings);
  options.interrupted = &interrupts.asked();
  options.force = arguments.force;
  options.say = [&view](const std::string& sentence) { view.on_notice(sentence); };
  return options;
}

int told(const GridArguments& arguments, const RunResult& result, bool others_go_on) {
  if (arguments.json) answer_json(summary(result));
  flush_output();
  if (result.last.stopped == StopReason::interrupted) {
    tell("\nLeft {}; {}. Come back with:\n  veche grid join --resume {}\n",
         result.last.step == 0 ? "before the first step"
                               : fmt::format("after step {}, saved", result.last.step),
         others_go_on ? "the others go on" : "nobody else takes part, so the run stands still",
         result.info.folder.string());
    return kLeft;
  }
  if (!arguments.quiet) print_run(result);
  return 0;
}

// What `start`, `join` and `join --resume` have in common.
class Membership {
 public:
  Membership(const GridArguments& arguments, Settings settings, MemberView& view,
             const Interrupts& interrupts)
      : arguments_(arguments),
        settings_(std::move(settings)),
        view_(view),
        interrupts_(interrupts),
        training_({.settings = settings_,
                   .observer = &view,
                   .name = members_name(settings_),
                   .interrupted = &interrupts.asked()}) {}

  const Settings& settings() const { return settings_; }
  const GridTraining& training() const { return training_; }
  grid::GridOptions options(const RunFolder& folder) const {
    grid::GridOptions options = options_of(arguments_, settings_, view_, interrupts_);
    options.folder = folder.path();
    return options;
  }
  int run(grid::Grid& grid, GridTraining::As how, const RunFolder& folder) {
    if (!arguments_.quiet)
      tell("{} takes part as a member of this run; its folder is {}\n", one_line(members_name(settings_)),
           folder.path().string());
    view_.member = &grid;
    view_.nodes_here = settings_.is_cut() ? 1 : settings_.nodes();
    const RunResult result = training_.run(grid, how, &folder);
    view_.member = nullptr;
    return told(arguments_, result, training_.others_go_on());
  }

 private:
  const GridArguments& arguments_;
  const Settings settings_;
  MemberView& view_;
  const Interrupts& interrupts_;
  GridTraining training_;
};

// Prints the invitation on standard output, for a file or a pipe. With --json standard output holds
// the summary, and the invitation goes to standard error.
void give_invitation(const GridArguments& arguments, grid::Grid& grid) {
  const grid::Terms terms;
  const std::string invitation = grid.invite(terms);
  tell("Others join, {} of them within {} hours, with `veche grid join` and this invitation:\n", terms.uses,
       std::chrono::duration_cast<std::chrono::hours>(terms.valid).count());
  if (arguments.json)
    tell("{}\n", invitation);
  else
    answer("{}\n", invitation);
  flush_output();
}

int come_back(const GridArguments& arguments) {
  if (!arguments.invitation.empty())
    throw RequestError("--resume comes back with what the folder holds; leave out the invitation");
  const Interrupts interrupts;
  MemberView view(arguments.quiet);
  Membership member(arguments, returned_settings(arguments.resume, arguments.assignments), view, interrupts);
  const RunFolder folder = RunFolder::resume(arguments.resume);
  const auto grid = grid::resume(member.options(folder));
  return member.run(*grid, GridTraining::As::returned, folder);
}

}  // namespace

int run_grid_start(const GridArguments& arguments) {
  const Interrupts interrupts;
  MemberView view(arguments.quiet);
  Membership member(arguments, founders_settings(arguments.config, arguments.assignments), view, interrupts);
  ProvisionalFolder folder(member.settings());
  const std::string shared =
      shared_config(member.settings(), member.training().data(), (*folder).name()).text();
  const auto grid = grid::found(member.options(*folder), shared);
  folder.keep(member.settings());
  give_invitation(arguments, *grid);
  return member.run(*grid, GridTraining::As::founder, *folder);
}

int run_grid_join(const GridArguments& arguments) {
  if (!arguments.resume.empty()) return come_back(arguments);
  if (arguments.invitation.empty())
    throw RequestError("give the invitation that a member has made, or --resume RUN to come back");
  const Interrupts interrupts;
  MemberView view(arguments.quiet);
  std::unique_ptr<ProvisionalFolder> folder;
  grid::GridOptions options =
      options_of(arguments, members_own_settings(arguments.assignments), view, interrupts);
  options.configured = [&](const std::string& configuration, grid::GridOptions& known) {
    const SharedConfig shared = SharedConfig::of(configuration);
    const Settings settings = newcomers_settings(shared, arguments.assignments);
    set_shared_rules(settings, known);
    folder = make_member_folder(settings, shared.run, members_name(settings));
    known.folder = (**folder).path();
  };
  const auto grid = grid::join(options, arguments.invitation);
  const SharedConfig shared = SharedConfig::of(grid->configuration());
  Membership member(arguments, newcomers_settings(shared, arguments.assignments), view, interrupts);
  member.training().data().check_fit(shared.data);
  folder->keep(member.settings());
  return member.run(*grid, GridTraining::As::newcomer, **folder);
}

}  // namespace veche::cli
