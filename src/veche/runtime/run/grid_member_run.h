#pragma once

#include <atomic>
#include <filesystem>

#include "veche/config.h"
#include "veche/run.h"
#include "veche/runtime/record/run_observer.h"

namespace veche {

struct GridMemberRequest {
  Config config;  // the founder's: the run; of other members: what they choose for themselves
  GridMembership membership = {};
  std::filesystem::path resume = {};  // the folder to return with
  bool keep = true;                   // false: the member leaves no folder
  RunObserver* observer = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // set it to leave the others after the current step
};

// This process as a member of a run on a grid, from its configuration to its result: it founds the
// run, joins it with an invitation, or returns to it with a folder. The constructor checks the
// request as far as it can without the grid: RequestError.
class GridMemberRun {
 public:
  explicit GridMemberRun(GridMemberRequest request);
  // Takes part until the run has ended or this member leaves it. Called once. RequestError: nothing
  // was written. RunError: what this member had is saved.
  RunResult run();

 private:
  RunResult found();
  RunResult join();
  RunResult come_back();

  const GridMemberRequest request_;
  const Settings settings_;  // a newcomer's: only those it chooses for itself
};

}  // namespace veche
