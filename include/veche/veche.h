#pragma once

// All of the library but torch.h, which needs libtorch.

#include "veche/collectives.h"
#include "veche/compression.h"
#include "veche/config.h"
#include "veche/dataset.h"
#include "veche/driven_learner.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/job.h"
#include "veche/learner.h"
#include "veche/packed.h"
#include "veche/random.h"
#include "veche/register.h"
#include "veche/run.h"
#include "veche/strategy_info.h"
#include "veche/vector_math.h"
