#pragma once

#include <memory>
#include <string>

#include "veche/comm/grid/grid.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/run/training.h"

namespace veche {

// What members must have in common to train one model, each with data of its own.
struct DataTraits {
  std::vector<std::int64_t> shape;
  std::int64_t classes = 0;
  std::vector<std::string> class_names;  // empty: classes are but numbers
  std::vector<double> mean, deviation;   // by which pixels are normalised; empty: there are none

  // As text that a founder gives to newcomers, and back; what is damaged throws RequestError.
  std::string text() const;
  static DataTraits of(const std::string& text);
  // Throws RequestError with both values where they differ.
  void check_fit(const DataTraits& runs) const;
};

struct GridRequest {
  Settings settings;  // cluster.nodes: those of this process
  RunObserver* observer = nullptr;
  std::string name = {};                           // of this member, for people; empty: its id
  const std::atomic<bool>* interrupted = nullptr;  // set it to leave the others after the step under way
  // A learner of the caller's own for each node of this process; none: the model that the settings name.
  std::function<std::unique_ptr<Learner>(NodeId)> learner = {};
};

// This process as a member of a run whose members come and go. Making it checks the request, opens the data
// and makes the learners: RequestError, and nothing is written.
class GridTraining {
 public:
  explicit GridTraining(GridRequest request);
  ~GridTraining();

  DataTraits data() const;

  enum class As { founder, newcomer, returned };
  // First catches up with those who train, where it is not the founder, while they go on. Trains in one view
  // after the other until the run has ended, or this member leaves it. Who has returned goes on from what its
  // folder holds. Without a folder nothing is kept. A failure is a RunError: the others go on, and what this
  // member had is saved.
  // A newcomer that comes too late takes the final model and its result is the run's. With grid.wait_for
  // nobody trains until so many members are in a view; RunError after grid.wait_limit.
  RunResult run(grid::Grid& grid, As how, const RunFolder* folder);
  // After an interruption: whether members have stayed when this one left.
  bool others_go_on() const;

 private:
  class Member;
  std::unique_ptr<Member> member_;
};

}  // namespace veche
