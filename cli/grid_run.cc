#include "cli/grid_run.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/grid_config.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_table.h"
#include "veche/base/files.h"
#include "veche/comm/grid/grid.h"
#include "veche/errors.h"
#include "veche/runtime/grid_training.h"
#include "veche/runtime/summary.h"

namespace veche::cli {
namespace {

constexpr int kLeft = 130;  // what shells expect of a program that ended on Ctrl-C

// Shows the run, and lets the other members know how it goes here.
class MembersView : public ProgressView {
 public:
  using ProgressView::ProgressView;
  void on_start(const RunInfo& info) override {
    nodes_ = info.nodes;
    ProgressView::on_start(info);
  }
  void on_progress(const Progress& progress) override {
    if (member != nullptr) member->report(progress.step, progress.images_per_second / nodes_);
    ProgressView::on_progress(progress);
  }
  grid::Grid* member = nullptr;

 private:
  int nodes_ = 1;
};

// What holds for all members alike.
void set_rules(const Settings& settings, grid::Options& options) {
  options.approve = settings.grid.get<std::string>("admit") == "approved";
  options.fork = settings.grid.get<std::string>("partition") == "fork";
}

grid::Options options_of(const GridArguments& arguments, const Settings& settings,
                         const std::filesystem::path& folder, MembersView& view,
                         const Interrupts& interrupts) {
  const Options& keys = settings.grid;
  grid::Options options;
  options.folder = folder;
  options.name = arguments.name;
  options.nodes = settings.is_cut() ? 1 : static_cast<std::uint32_t>(settings.nodes());
  options.slots = settings.cluster.get<int>("slots");
  options.listen = keys.get<std::string>("listen");
  options.addresses = keys.get<std::vector<std::string>>("address", {});
  options.relay = keys.get<bool>("relay");
  options.multicast = keys.get<bool>("multicast");
  options.upnp = keys.get<bool>("upnp");
  options.dht = keys.get<std::string>("dht");
  set_rules(settings, options);
  options.interrupted = &interrupts.asked();
  options.force = arguments.force;
  options.say = [&view](const std::string& sentence) { view.on_notice(sentence); };
  return options;
}

int told(const GridArguments& arguments, const RunResult& result) {
  if (arguments.json) answer_json(summary(result));
  flush_output();
  if (result.last.stopped == "interrupted") {
    tell("\nLeft after step {}, saved; the others go on. Come back with:\n  veche grid join --resume {}\n",
         result.last.step, result.info.folder.string());
    return kLeft;
  }
  if (!arguments.quiet) print_run(result);
  return 0;
}

// What is common to all ways of becoming a member.
class Membership {
 public:
  Membership(const GridArguments& arguments, Settings settings, MembersView& view,
             const Interrupts& interrupts)
      : arguments_(arguments),
        settings_(std::move(settings)),
        view_(view),
        interrupts_(interrupts),
        training_({.settings = settings_,
                   .observer = &view,
                   .name = arguments.name,
                   .interrupted = &interrupts.asked()}) {}

  const Settings& settings() const { return settings_; }
  const GridTraining& training() const { return training_; }
  grid::Options options(const RunFolder& folder) const {
    return options_of(arguments_, settings_, folder.path(), view_, interrupts_);
  }
  int run(grid::Grid& grid, GridTraining::As how, const RunFolder& folder) {
    view_.member = &grid;
    const RunResult result = training_.run(grid, how, &folder);
    view_.member = nullptr;
    return told(arguments_, result);
  }

 private:
  const GridArguments& arguments_;
  const Settings settings_;
  MembersView& view_;
  const Interrupts& interrupts_;
  GridTraining training_;
};

// A folder for a run that may turn out to be none.
class ProvisionalFolder {
 public:
  explicit ProvisionalFolder(const Settings& settings) : folder_(RunFolder::create(settings)) {}
  ~ProvisionalFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(folder_.path(), ignored);
  }
  ProvisionalFolder(const ProvisionalFolder&) = delete;
  ProvisionalFolder& operator=(const ProvisionalFolder&) = delete;

  const RunFolder& operator*() const { return folder_; }
  // It is a run's, with these settings.
  void keep(Settings settings) {
    settings.run.set("name", {folder_.name()});
    write_file(folder_.config(), settings.to_toml());
    kept_ = true;
  }

 private:
  const RunFolder folder_;
  bool kept_ = false;
};

int come_back(const GridArguments& arguments) {
  if (!arguments.invitation.empty())
    throw RequestError("--resume comes back with what the folder holds; leave out the invitation");
  const Interrupts interrupts;
  MembersView view(arguments.quiet);
  Membership member(arguments, returned_settings(arguments.resume, arguments.assignments), view, interrupts);
  const RunFolder folder = RunFolder::resume(arguments.resume);
  const auto grid = grid::resume(member.options(folder));
  return member.run(*grid, GridTraining::As::returned, folder);
}

}  // namespace

int run_grid_start(const GridArguments& arguments) {
  const Interrupts interrupts;
  MembersView view(arguments.quiet);
  Membership member(arguments, founders_settings(arguments.config, arguments.assignments), view, interrupts);
  ProvisionalFolder folder(member.settings());
  const std::string shared = shared_config(member.settings(), member.training().data()).text();
  const auto grid = grid::found(member.options(*folder), shared);
  folder.keep(member.settings());
  const grid::Terms terms;
  tell("Others join, {} of them within {} hours, with:\n  veche grid join {}\n", terms.uses,
       std::chrono::duration_cast<std::chrono::hours>(terms.valid).count(), grid->invite(terms));
  return member.run(*grid, GridTraining::As::founder, *folder);
}

int run_grid_join(const GridArguments& arguments) {
  if (!arguments.resume.empty()) return come_back(arguments);
  if (arguments.invitation.empty())
    throw RequestError("give the invitation that a member has made, or --resume RUN to come back");
  const Interrupts interrupts;
  MembersView view(arguments.quiet);
  const Settings own = members_own_settings(arguments.assignments);
  ProvisionalFolder folder(own);
  grid::Options options = options_of(arguments, own, (*folder).path(), view, interrupts);
  options.configured = [&](const std::string& configuration, grid::Options& known) {
    set_rules(newcomers_settings(SharedConfig::of(configuration), arguments.assignments), known);
  };
  const auto grid = grid::join(options, arguments.invitation);
  const SharedConfig shared = SharedConfig::of(grid->configuration());
  Membership member(arguments, newcomers_settings(shared, arguments.assignments), view, interrupts);
  member.training().data().check_fit(shared.data);
  folder.keep(member.settings());
  return member.run(*grid, GridTraining::As::newcomer, *folder);
}

}  // namespace veche::cli
