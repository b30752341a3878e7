// For builds without miniupnpc.
#include "veche/comm/grid/discovery/port_mapping.h"

namespace veche::grid {

struct PortMapping::State {};

PortMapping::PortMapping(std::uint16_t, std::function<void(const Outcome&)> report) {
  report({"", "this build has no UPnP (libminiupnpc-dev)"});
}
PortMapping::~PortMapping() = default;

}  // namespace veche::grid
