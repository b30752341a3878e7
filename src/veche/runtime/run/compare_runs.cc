#include <nlohmann/json.hpp>

#include "veche/comparison.h"
#include "veche/runtime/run/collective.h"
#include "veche/runtime/run/comparison.h"
#include "veche/runtime/run/process_job.h"

namespace veche {

std::string compare_runs(const Config& common, const std::vector<std::string>& words, int repeat,
                         const std::function<std::string(const PlannedRun& run)>& run) {
  using Json = nlohmann::ordered_json;
  Job* const job = process_job();
  const ComparisonPlan plan(common, words, job);
  const auto make = [&](const ComparedRun& one) {
    return Json::parse(run({.variant = one.variant.name,
                            .seed = one.seed,
                            .config = Config::from_text(one.settings.to_toml()),
                            .needs_process = one.needs_process}));
  };
  const ComparisonResult result = run_comparison(plan, repeat, job, make);
  return result.content.is_null() ? "" : result.content.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace veche
