#include "veche/runtime/run/cluster_checkpoints.h"

#include <fmt/format.h>

#include "veche/base/files/files.h"
#include "veche/runtime/checkpoint/resume.h"

namespace veche {

ClusterCheckpoints::ClusterCheckpoints(TrainingSession& session, const RunPlan& plan)
    : session_(session),
      plan_(plan),
      store_(session.folder()->checkpoints(), plan.learners(), session.folder()->id()) {}

std::uint64_t ClusterCheckpoints::resume(const ClusterNodes& nodes) {
  RunFolder& folder = *session_.folder();
  std::string chosen;  // the number of the checkpoint; empty: there is none
  std::vector<DamagedPiece> damaged;
  session_.on_rank_zero([&] {
    const auto step = store_.newest([&](const DamagedPiece& piece) { damaged.push_back(piece); });
    if (!step && !damaged.empty())
      refuse_damaged(damaged, fmt::format("start again with `veche train --resume {} --restart`, which keeps "
                                          "the old files",
                                          folder.path().string()));
    if (step) chosen = std::to_string(*step);
  });
  for (const DamagedPiece& piece : damaged) session_.notice(piece.sentence());
  chosen = broadcast(session_.job(), chosen);
  std::uint64_t first_step = 0;
  run_collectively(session_.job(), [&] {
    if (chosen.empty())
      return session_.notice(folder.path().string() + " has no checkpoint yet: starting from the beginning");
    const std::uint64_t checkpoint = std::stoull(chosen);
    tell_changes(checkpoint, nodes);
    first_step = veche::resume(nodes.all(), store_, checkpoint, plan_);
  });
  session_.on_rank_zero([&] {
    for (const std::filesystem::path& place : store_.set_aside(damaged))
      session_.notice(fmt::format("the damaged checkpoint is kept as {}", place.string()));
    store_.remove_leftovers();
    if (!chosen.empty()) folder.settle_id(store_.run_at(std::stoull(chosen)));
    write_file(folder.config(), plan_.settings.to_toml());  // the length of the run may have changed
  });
  return first_step;
}

// A checkpoint of another number of nodes or stages is averaged.
void ClusterCheckpoints::tell_changes(std::uint64_t checkpoint, const ClusterNodes& nodes) const {
  const RunInfo& info = session_.info();
  const int stages =
      nodes.all().empty() ? 1 : static_cast<int>(store_.parts_at(checkpoint, info.parameters).size());
  const int saved = store_.nodes_at(checkpoint);
  if (saved == plan_.learners() && stages == info.stages) return;
  session_.notice(fmt::format(
      "{} was saved by {} nodes{}: {}{} continue from their averaged model; the data are divided again{}",
      session_.folder()->path().string(), saved, stages > 1 ? fmt::format(" in {} stages", stages) : "",
      plan_.learners(), info.stages > 1 ? fmt::format(" in {} stages", info.stages) : "",
      info.codec.empty() ? "" : "; the memory of codecs is lost"));
}

Checkpointer& ClusterCheckpoints::start() {
  RunFolder& folder = *session_.folder();
  session_.on_rank_zero([&] { folder.settle_id(0); });
  store_.set_run(std::stoull(broadcast(session_.job(), std::to_string(folder.id()))));
  return store_;
}

}  // namespace veche
