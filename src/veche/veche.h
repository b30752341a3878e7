#pragma once

// All that a program of one's own needs: a Config made of keys, a Learner for each node, run_training.

#include "veche/base/errors.h"
#include "veche/base/node_id.h"
#include "veche/base/random.h"
#include "veche/model/learner.h"
#include "veche/runtime/config.h"
#include "veche/runtime/training.h"
