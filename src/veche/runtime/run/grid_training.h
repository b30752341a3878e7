#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "veche/comm/grid/grid.h"
#include "veche/config.h"
#include "veche/run.h"
#include "veche/runtime/config/data_traits.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/run_observer.h"
#include "veche/runtime/run/learner_factory.h"
#include "veche/runtime/run/vocabulary_agreement.h"

namespace veche {

struct GridRequest {
  Settings settings;  // cluster.nodes: of this process
  RunObserver* observer = nullptr;
  std::string name = {};                              // of this member, for people; empty: its id
  const std::atomic<bool>* interrupted = nullptr;     // set it to leave the others after the current step
  MakeLearner learner = {};                           // none: the model that the settings name
  std::shared_ptr<SharedVocabulary> vocabulary = {};  // agreed by the members, for others to ask for
  std::shared_ptr<const TableScheme> scheme = {};     // of the run that this member returns to, or null
};

// This process as a member of a run on a grid, whose members come and go. The constructor checks
// the request, opens the data and makes the learners: RequestError. It writes nothing.
class GridTraining {
 public:
  explicit GridTraining(GridRequest request);
  ~GridTraining();

  DataTraits data() const;

  enum class As { founder, newcomer, returned };
  // Trains in one view after the other until the run has ended or this member leaves it. A member
  // that is not the founder first catches up with the others while they train. One that has
  // returned starts from what its folder holds. Without a folder nothing is kept. A newcomer that
  // comes after the end takes the final model, and its result is the run's. With grid.wait_for,
  // training starts when that many members are in a view; RunError after grid.wait_limit. A failure
  // is a RunError: the others go on, and what this member had is saved.
  RunResult run(grid::Grid& grid, As how, const RunFolder* folder);

 private:
  class Member;
  std::unique_ptr<Member> member_;
};

}  // namespace veche
