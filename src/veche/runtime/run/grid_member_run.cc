#include "veche/runtime/run/grid_member_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "veche/comm/grid/grid.h"
#include "veche/errors.h"
#include "veche/runtime/config/member_config.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/record/provisional_folder.h"
#include "veche/runtime/run/grid_training.h"
#include "veche/runtime/run/member_observer.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// The folder of a member that keeps nothing: its key and certificate, while it takes part.
class KeyFolder {
 public:
  KeyFolder() : path_((fs::temp_directory_path() / "veche-member-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw RunError("no folder can be made in " + path_);
  }
  ~KeyFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;
  fs::path path() const { return path_; }

 private:
  std::string path_;
};

// Where the files of a new member are: in the folder of its run, or in one that it does not keep.
struct MemberPlace {
  std::unique_ptr<ProvisionalFolder> run;
  std::unique_ptr<KeyFolder> keys;

  const RunFolder* folder() const { return run ? &**run : nullptr; }
  fs::path path() const { return run ? (**run).path() : keys->path(); }
  void keep(const Settings& settings) const {
    if (run) run->keep(settings);
  }
};

Settings settings_of(const GridMemberRequest& request) {
  const GridMembership& membership = request.membership;
  if (!request.resume.empty()) {
    if (membership.invitation)
      throw RequestError(
          "a member that returns with its folder needs no invitation: leave out the invitation, or the "
          "folder to resume");
    return returned_settings(request.resume, request.config);
  }
  if (membership.force)
    throw RequestError(
        "only a member that returns with its folder can be forced to continue: name the folder to resume");
  if (membership.invitation) return members_own_settings(request.config);
  return founders_settings(request.config);
}

grid::GridOptions options_of(const GridMemberRequest& request, const Settings& settings,
                             MemberObserver& observer) {
  grid::GridOptions options = grid_options(settings);
  options.interrupted = request.interrupted;
  options.force = request.membership.force;
  options.say = [&observer](const std::string& sentence) { observer.say(sentence); };
  return options;
}

std::unique_ptr<GridTraining> training_of(const GridMemberRequest& request, const Settings& settings,
                                          MemberObserver& observer,
                                          std::shared_ptr<SharedVocabulary> vocabulary = {}) {
  return std::make_unique<GridTraining>(
      GridRequest{.settings = settings,
                  .observer = &observer,
                  .name = members_name(settings),
                  .interrupted = request.interrupted,
                  .learner = {},
                  .vocabulary = std::move(vocabulary),
                  .scheme = request.resume.empty() ? nullptr : saved_scheme(request.resume)});
}

VocabularyWait wait_of(grid::Grid& grid, const Settings& settings, const GridMemberRequest& request,
                       MemberObserver& observer) {
  return {grid, settings, [&observer](const std::string& sentence) { observer.on_notice(sentence); },
          request.interrupted};
}

Settings with_symbols(Settings settings, const std::string& symbols) {
  settings.data.vocabulary = packed_tokenizer(*make_tokenizer(TokenizerKind::characters, symbols));
  return settings;
}

RunResult take_part(GridTraining& training, grid::Grid& grid, GridTraining::As how, const RunFolder* folder,
                    const Settings& settings, MemberObserver& observer) {
  observer.on_notice(
      fmt::format("{} takes part as a member of this run{}", members_name(settings),
                  folder == nullptr ? "" : fmt::format("; its folder is {}", folder->path().string())));
  const MemberObserver::Reports reports(observer, grid, settings.is_cut() ? 1 : settings.nodes());
  RunResult result = training.run(grid, how, folder);
  observer.check();
  return result;
}

}  // namespace

GridMemberRun::GridMemberRun(GridMemberRequest request)
    : request_(std::move(request)), settings_(settings_of(request_)) {}

RunResult GridMemberRun::run() {
  if (!request_.resume.empty()) return come_back();
  return request_.membership.invitation ? join() : found();
}

RunResult GridMemberRun::found() {
  MemberObserver observer(request_.observer);
  std::unique_ptr<GridTraining> training = training_of(request_, settings_, observer);
  MemberPlace place;
  if (request_.keep)
    place.run = std::make_unique<ProvisionalFolder>(settings_);
  else
    place.keys = std::make_unique<KeyFolder>();
  grid::GridOptions options = options_of(request_, settings_, observer);
  options.folder = place.path();
  const std::string name = place.run ? place.folder()->name() : settings_.run.name.value_or("");
  const auto grid = grid::found(options, shared_config(settings_, training->data(), name).text());
  place.keep(settings_);
  if (request_.membership.on_invitation) request_.membership.on_invitation(grid->invite({}));
  if (agrees_on_vocabulary(settings_)) {
    const auto shared = std::make_shared<SharedVocabulary>(own_symbols(settings_));
    const std::string symbols = agree_as_founder(wait_of(*grid, settings_, request_, observer), shared);
    training = training_of(request_, with_symbols(settings_, symbols), observer, shared);
  }
  return take_part(*training, *grid, GridTraining::As::founder, place.folder(), settings_, observer);
}

RunResult GridMemberRun::join() {
  MemberObserver observer(request_.observer);
  MemberPlace place;
  grid::GridOptions options = options_of(request_, settings_, observer);
  options.configured = [&](const std::string& configuration, grid::GridOptions& known) {
    const SharedConfig shared = SharedConfig::of(configuration);
    const Settings settings = newcomers_settings(shared, request_.config);
    set_shared_rules(settings, known);
    if (request_.keep)
      place.run = make_member_folder(settings, shared.run, members_name(settings));
    else
      place.keys = std::make_unique<KeyFolder>();
    known.folder = place.path();
  };
  const auto grid = grid::join(options, *request_.membership.invitation);
  SharedConfig shared = SharedConfig::of(grid->configuration());
  Settings settings = newcomers_settings(shared, request_.config);
  std::shared_ptr<SharedVocabulary> vocabulary;
  if (agrees_on_vocabulary(settings)) {
    const std::string symbols =
        agree_as_newcomer(wait_of(*grid, settings, request_, observer), own_symbols(settings));
    vocabulary = std::make_shared<SharedVocabulary>(symbols);
    vocabulary->fix();
    settings = with_symbols(settings, symbols);
    shared.data.vocabulary = settings.data.vocabulary;
    shared.data.classes = make_tokenizer(TokenizerKind::characters, symbols)->size();
  }
  const std::unique_ptr<GridTraining> training = training_of(request_, settings, observer, vocabulary);
  training->data().check_fit(shared.data);
  place.keep(settings);
  return take_part(*training, *grid, GridTraining::As::newcomer, place.folder(), settings, observer);
}

RunResult GridMemberRun::come_back() {
  MemberObserver observer(request_.observer);
  std::shared_ptr<SharedVocabulary> vocabulary;
  if (agrees_on_vocabulary(settings_) && !settings_.data.vocabulary.empty()) {
    vocabulary = std::make_shared<SharedVocabulary>(unpack_tokenizer(settings_.data.vocabulary)->content());
    vocabulary->fix();
  }
  const std::unique_ptr<GridTraining> training = training_of(request_, settings_, observer, vocabulary);
  const RunFolder folder = RunFolder::resume(request_.resume);
  grid::GridOptions options = options_of(request_, settings_, observer);
  options.folder = folder.path();
  const auto grid = grid::resume(options);
  return take_part(*training, *grid, GridTraining::As::returned, &folder, settings_, observer);
}

}  // namespace veche
