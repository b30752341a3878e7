#pragma once

#include "veche/graph/weights/mixing.h"
#include "veche/topology_request.h"
