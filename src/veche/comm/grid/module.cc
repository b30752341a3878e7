#include "veche/base/module_api.h"
#include "veche/comm/grid/fixed/fixed_job.h"
#include "veche/comm/grid/grid_module.h"
#include "veche/comm/grid/run/console.h"
#include "veche/comm/grid/run/grid_member.h"

namespace grid = veche::grid;

extern "C" VECHE_MODULE_API void veche_grid_fixed_members(int count, std::vector<grid::FixedMembers>& made) {
  made = grid::make_fixed_members(count);
}

extern "C" VECHE_MODULE_API veche::Job* veche_grid_fixed_job(const grid::FixedMembers& members) {
  return grid::join_fixed_job(members).release();
}

extern "C" VECHE_MODULE_API grid::Grid* veche_grid_found(const grid::GridOptions& options,
                                                         const std::string& text) {
  return grid::found_member(options, text).release();
}

extern "C" VECHE_MODULE_API grid::Grid* veche_grid_join(const grid::GridOptions& options,
                                                        const std::string& text) {
  return grid::join_member(options, text).release();
}

extern "C" VECHE_MODULE_API grid::Grid* veche_grid_resume(const grid::GridOptions& options,
                                                          const std::string&) {
  return grid::resume_member(options).release();
}

extern "C" VECHE_MODULE_API void veche_grid_ask(const std::filesystem::path& folder,
                                                const grid::Request& request, std::string& answer,
                                                grid::Status* status) {
  answer = grid::ask_member(folder, request);
  if (status != nullptr) *status = grid::read_status(answer);
}
