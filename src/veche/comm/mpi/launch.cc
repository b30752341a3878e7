#include "veche/comm/mpi/launch.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace veche {
namespace {

std::optional<int> number(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  int value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc()) return {};
  return value;
}

}  // namespace

std::optional<MpiLaunch> mpi_launch() {
  // Open MPI's mpirun; srun --mpi=pmix, which has no variable for the number of ranks; MPICH's
  // mpirun and srun --mpi=pmi2.
  if (const auto size = number("OMPI_COMM_WORLD_SIZE")) return MpiLaunch{MpiKind::open_mpi, *size};
  const auto tasks = number("SLURM_STEP_NUM_TASKS");
  if (number("PMIX_RANK") && tasks) return MpiLaunch{MpiKind::open_mpi, *tasks};
  if (number("PMI_RANK"))
    if (const auto size = number("PMI_SIZE")) return MpiLaunch{MpiKind::mpich, *size};
  return {};
}

bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const auto rank = number(variable)) return *rank == 0;
  return false;
}

int tasks_without_mpi() { return mpi_launch() ? 1 : number("SLURM_STEP_NUM_TASKS").value_or(1); }

std::string launcher_words(int ranks) {
  const bool by_srun = !number("OMPI_COMM_WORLD_SIZE") && number("SLURM_STEP_NUM_TASKS");
  if (!by_srun) return "mpirun -np " + std::to_string(ranks);
  return "srun --mpi=" + std::string(number("PMIX_RANK") ? "pmix" : "pmi2") + " -n " + std::to_string(ranks);
}

std::unique_ptr<Job> join_launched_job() {
  const auto launch = mpi_launch();
  return launch ? join_mpi_job(*launch) : nullptr;
}

}  // namespace veche
