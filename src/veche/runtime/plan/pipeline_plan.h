#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/model_spec.h"
#include "veche/runtime/plan/simulation_plan.h"
#include "veche/train/pipeline/plan.h"

namespace veche {

// The [pipeline] section as a plan, cut as far as possible without measuring; none: no pipeline.
// Throws RequestError for settings that contradict each other.
std::optional<PipelinePlan> plan_pipeline(const Settings& settings, const ModelSpec& model,
                                          const std::optional<SimulationPlan>& simulation);

// What decides where a model is cut.
struct CutRequest {
  PipelineCut::By measure;           // time, parameters or layers
  std::vector<double> speeds;        // relative, of each stage
  std::vector<double> seconds = {};  // measured, of each block; empty: time is counted in operations
};
// Cuts the blocks into as many stages as there are speeds. Only `time` and `layers` give a fast
// stage more: a cut by parameters makes all stages equally large.
Cut plan_cut(const std::vector<BlockDescription>& blocks, const CutRequest& request);

// Whether pipeline.cut asks for times, which are measured where they are real.
bool is_cut_by_time(const Settings& settings);

// Seconds of each block, forward and backward, with micro-batches of this many samples, in this
// process.
std::vector<double> measure_blocks(const ModelSpec& model, std::size_t samples);

// Of the stages, by cluster.speed: the mean of the nodes that have it.
std::vector<double> stage_speeds(const std::vector<double>& of_nodes, int stages);

// The same plan with another cut, which fits.
void set_cut(PipelinePlan& plan, Cut cut, const Settings& settings,
             const std::optional<SimulationPlan>& simulation);

}  // namespace veche
