#pragma once

#include <memory>

#include "veche/comm/mpi/post_office.h"

namespace veche {

// A node of this rank. Keeps the post office open.
std::unique_ptr<Endpoint> make_mpi_endpoint(std::shared_ptr<PostOffice> office, NodeId id);

}  // namespace veche
