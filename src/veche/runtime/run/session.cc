#include "veche/runtime/run/session.h"

#include <fmt/format.h>

#include "veche/base/files/files.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/record/summary.h"

namespace veche {

TrainingSession::TrainingSession(const Settings& settings, bool own_learner, Caller caller)
    : caller_(caller) {
  info_.model = own_learner ? "own" : settings.model.name;
  // Not by the plan: a view of a single node has no strategy until other members join.
  info_.strategy = settings.strategy.name;
}

void TrainingSession::notice(const std::string& sentence) const {
  if (is_rank_zero() && caller_.observer != nullptr) caller_.observer->on_notice(sentence);
}

const std::atomic<bool>& TrainingSession::interrupted() const {
  static const std::atomic<bool> never = false;
  return caller_.interrupted != nullptr ? *caller_.interrupted : never;
}

void TrainingSession::create_folder(const Settings& settings) {
  open_folder([&](const RunFolder::Notice& notice) { return RunFolder::create(settings, notice); });
}

void TrainingSession::resume_folder(const std::filesystem::path& path) {
  open_folder([&](const RunFolder::Notice& notice) { return RunFolder::resume(path, notice); });
}

void TrainingSession::use_folder(const RunFolder& folder) {
  folder_ = folder;
  info_.folder = folder.path();
}

void TrainingSession::open_folder(const std::function<RunFolder(const RunFolder::Notice&)>& open) {
  std::optional<RunFolder> folder;
  on_rank_zero([&] { folder = open([this](const std::string& sentence) { notice(sentence); }); });
  if (job() != nullptr) {
    const std::string path =
        broadcast(job(), folder ? std::filesystem::absolute(folder->path()).string() : "");
    run_collectively(job(), [&] {
      if (is_rank_zero()) return;
      if (!std::filesystem::exists(path))
        throw RequestError(path + " is not there: run.out must lie on a file system that all hosts share");
      folder = RunFolder::open(path);
    });
  }
  use_folder(*folder);
}

void TrainingSession::describe(const Described& run) {
  const TrainingPlan& plan = run.plan;
  info_.topology = plan.topology ? plan.topology->describe() : "";
  info_.codec = plan.compression ? plan.compression->spec.word() : "";
  info_.data = run.source.name;
  info_.task = plan.untested().task;
  info_.rank = job() == nullptr ? 0 : job()->rank();
  info_.stages = plan.pipeline ? plan.pipeline->stages : 1;
  info_.parameters = plan.pipeline ? plan.pipeline->parameter_count() : run.parameters;
  info_.nodes = run.nodes;
  info_.first_step = run.first_step;
  info_.steps = plan.steps;
  info_.steps_per_epoch = plan.steps_per_epoch;
}

void TrainingSession::set_view(int nodes, std::uint64_t steps, double steps_per_epoch,
                               const EpochCount& begun) {
  info_.nodes = nodes;
  info_.steps = steps;
  info_.steps_per_epoch = steps_per_epoch;
  info_.epochs_at = begun.step;
  info_.epochs_before = begun.epochs;
}

void TrainingSession::write_layout(const std::optional<PipelinePlan>& pipeline, const Learner& learner,
                                   const DataSource& source) const {
  if (pipeline)
    veche::write_layout(*folder_, info_.model, pipeline->parameters, pipeline->buffers, source);
  else
    veche::write_layout(*folder_, info_.model, learner.parameter_layout(), learner.buffer_layout(), source);
}

void TrainingSession::start(bool recorded) {
  if (folder_)
    on_rank_zero([&] {
      if (!recorded) recorder_.emplace(*folder_, info_, caller_.observer);
    });
  if (caller_.observer != nullptr) caller_.observer->on_start(info_);
}

void TrainingSession::start_view(std::vector<NodeMember> members) {
  if (recorder_) recorder_->on_view(info_, std::move(members));
  if (caller_.observer != nullptr) caller_.observer->on_view(info_);
}

Observer* TrainingSession::observer() {
  if (recorder_) return &*recorder_;
  return is_rank_zero() ? caller_.observer : nullptr;
}

RunResult TrainingSession::result(const DataSource& source, Evaluation last,
                                  std::vector<std::vector<float>> parameters) const {
  RunResult result;
  result.info = info_;
  result.last = std::move(last);
  result.parameters = std::move(parameters);
  for (const auto& log : source.damage) {
    result.damaged_samples += log->count();
    for (std::string& sentence : log->sentences()) result.damage.push_back(std::move(sentence));
  }
  tell_damage(result);
  return result;
}

void TrainingSession::tell_damage(const RunResult& result) const {
  if (result.damage.empty()) return;
  if (result.damaged_samples == 0) return notice(result.damage.front());
  notice(fmt::format("{} damaged samples were replaced by others of their classes; the first: {}",
                     result.damaged_samples, result.damage.front()));
}

void TrainingSession::finish(const RunResult& result) {
  if (!folder_) return;
  on_rank_zero([&] {
    if (!recorder_) return;
    recorder_->finish();
    if (result.last.stopped != StopReason::interrupted) write_summary(result);
  });
}

void TrainingSession::record_result(const RunResult& result) {
  if (!folder_) return;
  recorder_.emplace(*folder_, info_, nullptr);
  recorder_->on_evaluation(result.last);
  recorder_->finish();
  write_summary(result);
}

void TrainingSession::write_summary(const RunResult& result) const {
  write_file(folder_->summary(), summary(result).dump(2) + "\n");
}

}  // namespace veche
