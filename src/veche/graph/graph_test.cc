#include "veche/graph/graph.h"

#include <gtest/gtest.h>
