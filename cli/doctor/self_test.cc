#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "cli/doctor/findings.h"
#include "cli/process/own_process.h"
#include "veche/base/module/modules.h"
#include "veche/errors.h"
#include "veche/run.h"

namespace veche::cli {
namespace {

using State = Finding::State;
using Json = nlohmann::ordered_json;

// Node i pulls towards b_i with strength a_i; the sum has its minimum at sum(ab) / sum(a) = 2.
constexpr char kParabolas[] = R"(
run = {steps = 500}
model = {name = "quadratic", a = [1.0, 2.0, 3.0, 4.0], b = [4.0, 3.0, 2.0, 1.0], x0 = 0.0}
optimizer = {name = "sgd", lr = 0.02, schedule = "cosine"}
cluster = {transport = "threads"}
strategy = {name = "consensus"}
)";
constexpr double kMinimum = 2, kTolerance = 0.01;

constexpr char kNetwork[] = R"(
run = {steps = 1}
model = {name = "mlp", hidden = [16]}
data = {name = "synthetic", samples = 64, test_samples = 16, shape = [1, 8, 8], batch = 8}
cluster = {nodes = 2, transport = "threads"}
strategy = {name = "allreduce"}
)";

RunResult run_of(const char* text) { return Run(Config::from_text(text), {.keep = false}).wait(); }

std::string agreement() {
  const RunResult result = run_of(kParabolas);
  double worst = 0;
  for (const std::vector<float>& x : result.parameters)
    worst = std::max(worst, std::abs(static_cast<double>(x.at(0)) - kMinimum));
  if (!(worst <= kTolerance))
    throw RunError(fmt::format("a node ends {:.3g} away from the minimum at {}", worst, kMinimum));
  return fmt::format("all within {:.1g} of the minimum", kTolerance);
}

std::string network_step() {
  const RunResult result = run_of(kNetwork);
  if (result.parameters.at(0) != result.parameters.at(1))
    throw RunError("the two models differ after a step with equal gradients");
  if (!std::isfinite(result.last.average_model.loss())) throw RunError("the loss is not a number");
  return fmt::format("{} parameters, equal on both nodes", result.parameters.at(0).size());
}

Finding test(const std::string& what, const std::function<std::string()>& work) {
  static const std::atomic<bool> never = false;
  Finding finding{.what = what};
  const auto start = std::chrono::steady_clock::now();
  try {
    finding.detail = in_process_of_its_own([&] { return Json(work()); }, never).get<std::string>();
  } catch (const std::exception& error) {
    finding.state = State::broken;
    finding.detail = error.what();
    finding.remedy = "rebuild with `make build`; if it stays, this is a bug to report";
    return finding;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  finding.detail += fmt::format("; {:.1f} s", took.count());
  return finding;
}

}  // namespace

std::vector<Finding> test_itself() {
  std::vector<Finding> findings{test("four nodes agree", agreement)};
  if (module_exists(modules::kTorch)) findings.push_back(test("a step of a network", network_step));
  return findings;
}

}  // namespace veche::cli
