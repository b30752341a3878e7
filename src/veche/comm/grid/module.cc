#include "veche/base/module_api.h"
#include "veche/comm/grid/fixed/fixed_job.h"

namespace grid = veche::grid;

extern "C" VECHE_MODULE_API void veche_grid_fixed_members(int count, std::vector<grid::FixedMembers>& made) {
  made = grid::make_fixed_members(count);
}

extern "C" VECHE_MODULE_API veche::Job* veche_grid_fixed_job(const grid::FixedMembers& members) {
  return grid::join_fixed_job(members).release();
}
