#include "bench/cluster/sides.h"

#include "bench/cluster/program.h"

namespace veche {

extern const char kDdpPeer[];  // the models of step/peer.py, and ddp.py

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

nlohmann::json run_ours(Words launcher, const Words& assignments, int minutes) {
  launcher.insert(launcher.end(), {own_path(), "train", "--json", "--quiet"});
  for (const std::string& assignment : assignments) launcher.insert(launcher.end(), {"--set", assignment});
  return run_program(launcher, {}, minutes);
}

std::string peer_command(const BenchOptions& options) {
  const std::string python = options.python.empty() ? VECHE_PYTHON : options.python;
  return "exec " + quoted(python) + " -c " + quoted(kDdpPeer);
}

}  // namespace veche
