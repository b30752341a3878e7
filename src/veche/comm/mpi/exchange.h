#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace veche {

// Collective over the communicator: every rank's text of any length, by rank. `wait` waits for a
// request and returns whether it is done; if not, the result is nullopt, and buffers that MPI may
// still write to are leaked.
std::optional<std::vector<std::string>> all_texts(MPI_Comm comm, const std::string& mine,
                                                  const std::function<bool(MPI_Request&)>& wait);

}  // namespace veche
