#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "web/report/records.h"

namespace veche::web {

// One configuration of a report, run with one or several seeds.
struct Finding {
  const RunGroup* group = nullptr;
  std::size_t color = 0;  // its place in the order of the runs as they were named
  std::string strategy, graph, codec;
  std::vector<std::pair<std::string, std::string>> others;  // further settings that differ, and their values
  bool virtual_time = false;
  std::optional<Spread> result;          // of the averaged model, by the main measure of its task
  std::optional<Spread> seconds, bytes;  // of the whole run
  std::optional<Spread> seconds_to_goal, bytes_to_goal;  // nullopt: a seed has not reached the goal
  std::optional<Spread> result_at_goal;                  // of the measurement that reached it
  std::optional<Spread> loss, disagreement, speed;

  const RunRecord& first() const { return group->runs.front(); }
  const std::string& name() const { return group->name; }
};

// What a report has found out. The goal is that of run.target, if all runs have the same one; else
// the best that more than half of the configurations, and at least two, have reached, rounded to what
// is easier: accuracies to steps of 5 %, at most 95 %, other measures to two digits. A run reaches it
// at the first measurement whose averaged model is as good.
struct Findings {
  std::vector<Finding> all;            // the cheapest way to the goal first, then the best result
  std::vector<Task> tasks;             // each once; measures of several are not compared
  std::optional<double> goal;          // a value of the main measure
  std::vector<std::string> differing;  // settings that differ, as in config.toml

  const Measure& measure() const { return main_measure(tasks.front()); }
  bool virtual_time() const;  // of all
};

// `groups` must outlive the findings, and is not empty.
Findings findings_of(const std::vector<RunGroup>& groups);
// Of one configuration; nothing differs then.
Finding finding_of(const RunGroup& group, std::optional<double> goal);

// Whether a value is as good as another one.
bool reaches(const Measure& measure, double value, double other);

}  // namespace veche::web
