#pragma once

#include <memory>
#include <vector>

#include "veche/endpoint.h"
#include "veche/export.h"

namespace veche {

// An endpoint for a subset of the nodes: node k of the group is members[k]. So every collective and
// strategy works inside a group, over `channel.child(k, *group)`. `whole` outlives the group, and
// its node is a member, or std::invalid_argument is thrown. Groups with common members that are
// used at the same time need different tags.
VECHE_API std::unique_ptr<Endpoint> make_group(Endpoint& whole, std::vector<NodeId> members);

}  // namespace veche
