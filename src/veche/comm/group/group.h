#pragma once

#include <memory>
#include <vector>

#include "veche/endpoint.h"

namespace veche {

// Some of the nodes seen as a cluster of their own: node k of it is members[k]. So every collective and every
// strategy works inside a group. `whole` outlives it, and its node is a member. Groups with common members
// that are used at the same time need different tags.
std::unique_ptr<Endpoint> make_group(Endpoint& whole, std::vector<NodeId> members);

}  // namespace veche
