#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace veche {

// Collective over the communicator: everybody's texts of any length, by rank. `wait` waits for a
// request and says whether it is done; if not, nothing is returned, and what MPI may still write to is left
// behind.
std::optional<std::vector<std::string>> all_texts(MPI_Comm comm, const std::string& mine,
                                                  const std::function<bool(MPI_Request&)>& wait);

}  // namespace veche
