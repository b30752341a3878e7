#include "veche/comm/grid/grid.h"

#include "veche/base/module/modules.h"
#include "veche/comm/grid/discovery/directory.h"
#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/comm/grid/grid_module.h"

namespace veche::grid {
namespace {

template <class Function>
Function* of_module(const char* symbol) {
  return module_function<Function>(modules::kGrid, symbol);
}

// The DHT is a separate module: a member that does not use it needs no OpenDHT.
GridOptions with_directory(const GridOptions& options) {
  if (options.dht.empty()) return options;
  GridOptions complete = options;
  complete.directory.reset(module_function<MakeDirectory>(modules::kDht, kMakeDirectorySymbol)(options.dht));
  return complete;
}

std::string ask(const std::filesystem::path& folder, const Request& request, Status* status = nullptr) {
  std::string answer;
  of_module<AskMember>(kAskSymbol)(folder, request, answer, status);
  return answer;
}

}  // namespace

std::unique_ptr<Grid> found(const GridOptions& options, const std::string& configuration) {
  return std::unique_ptr<Grid>(of_module<MakeGrid>(kFoundSymbol)(with_directory(options), configuration));
}

std::unique_ptr<Grid> join(const GridOptions& options, const std::string& invitation) {
  return std::unique_ptr<Grid>(of_module<MakeGrid>(kJoinSymbol)(with_directory(options), invitation));
}

std::unique_ptr<Grid> resume(const GridOptions& options) {
  return std::unique_ptr<Grid>(of_module<MakeGrid>(kResumeSymbol)(with_directory(options), ""));
}

Status status_of(const std::filesystem::path& folder) {
  Status status;
  ask(folder, {Request::What::status, {}, {}}, &status);
  return status;
}

std::string invite_by(const std::filesystem::path& folder, const Terms& terms) {
  return ask(folder, {Request::What::invite, {}, terms});
}

void revoke_by(const std::filesystem::path& folder, const std::string& id) {
  ask(folder, {Request::What::revoke, id, {}});
}

void admit_by(const std::filesystem::path& folder, const std::string& id) {
  ask(folder, {Request::What::admit, id, {}});
}

std::vector<FixedMembers> fixed_members(int count) {
  std::vector<FixedMembers> made;
  of_module<MakeFixedMembers>(kFixedMembersSymbol)(count, made);
  return made;
}

std::unique_ptr<Job> fixed_job(const FixedMembers& members) {
  return std::unique_ptr<Job>(of_module<JoinFixedJob>(kFixedJobSymbol)(members));
}

}  // namespace veche::grid
