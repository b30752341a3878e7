#include "veche/base/module/modules.h"

#include <atomic>

#include "cli/doctor/findings.h"
#include "cli/process/own_process.h"

namespace veche::cli {
namespace {

using State = Finding::State;

Finding check_module(const Module& module) {
  static const std::atomic<bool> never = false;
  Finding finding{.what = module.purpose, .detail = module.file};
  if (!module_exists(module)) {
    finding.state = State::missing;
    finding.detail += " is not in this build";
    finding.remedy = std::string("install ") + module.package + " and rebuild Veche";
    return finding;
  }
  try {
    in_process_of_its_own(
        [&] {
          load_module(module);
          return nlohmann::ordered_json();
        },
        never);
  } catch (const std::exception& error) {
    finding.state = module.may_lack ? State::missing : State::broken;
    finding.detail = error.what();
    finding.remedy = std::string("install ") + module.package + ", which brings its libraries";
  }
  return finding;
}

}  // namespace

std::vector<Finding> check_modules() {
  std::vector<Finding> findings;
  for (const Module& module : modules::kAll) findings.push_back(check_module(module));
  return findings;
}

}  // namespace veche::cli
