#pragma once

#include <memory>
#include <span>
#include <vector>

#include "veche/comm/views.h"
#include "veche/config.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/run/learner_factory.h"
#include "veche/runtime/run/view_epochs.h"
#include "veche/train/views/state_donor.h"
#include "veche/train/views/view_part.h"

namespace veche {

// What a member of a grid knows before it has joined: its settings and its data. Makes its learners
// and the plan of each view.
class MemberPlan {
 public:
  // Checks the settings and opens the data. `scheme`: of its table, where the run has one already.
  // Throws RequestError.
  MemberPlan(Settings settings, MakeLearner own_learner, std::shared_ptr<const TableScheme> scheme);

  const Settings& settings() const { return settings_; }
  const DataSource& source() const { return data_.source; }
  bool in_stages() const { return in_stages_; }  // each member has one stage of the model
  int nodes_here() const { return nodes_here_; }
  // Whether the members have tables of their own, and the scheme of this one is that of the run.
  bool agrees_on_scheme() const { return own_data_ && data_.source.scheme != nullptr; }
  bool has_final_scheme() const { return final_scheme_; }
  // All learners and plans made before are of another scheme. Throws RequestError where the table
  // does not fit.
  void set_scheme(std::shared_ptr<const TableScheme> scheme);
  bool is_async() const;
  Shared shared_state() const;
  EpochCount epochs_at_start(const View& view) const { return veche::epochs_at_start(view, !is_async()); }

  // The plan of a run with no other member.
  RunPlan alone() const;
  // The plan of a view; `data` is by node of the view, and `first` is the first node here.
  std::unique_ptr<const TrainingPlan> for_view(const View& view, std::span<const DataMessage> data,
                                               NodeId first) const;

  std::vector<std::unique_ptr<Learner>> make_learners(const RunPlan& plan, int count) const;
  std::unique_ptr<Learner> make_spare_learner() const;
  MemberState make_stage(int stage) const;

 private:
  const Settings settings_;
  const MakeLearner own_learner_;
  const bool in_stages_;
  const int nodes_here_;
  const bool own_data_;  // each member has samples of its own
  NodeFolders data_;
  bool final_scheme_;
};

}  // namespace veche
