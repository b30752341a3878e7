#pragma once

#include <string>

#include "tests/support/made_up_sets.h"
#include "tests/support/task_learners.h"
#include "tests/support/train.h"
#include "veche/register.h"

namespace veche::testing {

// Registers, once in a process, small sets of text ("made-up-text") and of rows ("made-up-table"),
// and the model "made-up" for both.
inline void register_tasks() {
  static const bool done = [] {
    const auto add = [](const std::string& name, auto make) {
      register_dataset({.name = name, .open = [make](const Options&, std::uint64_t) {
                          return OwnDataset::Parts{.train = make(60), .test = make(250)};
                        }});
    };
    add("made-up-text", [](std::size_t samples) {
      return std::make_shared<MadeUpText>(
          MadeUpText::Form{.samples = samples, .length = 3, .weighted = true});
    });
    add("made-up-table", [](std::size_t samples) { return std::make_shared<MadeUpTable>(samples, true); });
    register_model(
        {.name = "made-up", .make = make_task_learner, .tasks = {Task::language, Task::regression}});
    return true;
  }();
  static_cast<void>(done);
}

// The model and the data of a run of a task other than classification.
inline Assignments assignments_of(Task task) {
  register_tasks();
  return {"model.name=made-up",
          task == Task::language ? "data.name=made-up-text" : "data.name=made-up-table"};
}

// Tasks take turns over the seeds, and over the numbers of nodes.
inline Task task_for(std::uint64_t seed) { return kAllTasks[(seed + seed / 3) % kAllTasks.size()]; }

}  // namespace veche::testing
