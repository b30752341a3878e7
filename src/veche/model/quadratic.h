#pragma once

#include <memory>

#include "veche/model/zoo.h"

namespace veche {

// f_i(x) = 1/2 sum_d a_id (x_d - b_id)^2 at node i, with its exact gradient, so that a strategy can be
// compared with arithmetic on paper. Options: `a` and `b` hold one entry per node, a number or a list of one
// number per dimension (a single number stands for all nodes); `x0` is where all nodes start, a number or one
// per dimension, and with model.start = "different" each draws its own. Batches are ignored. Throws
// RequestError when the lists do not fit the nodes or each other.
std::unique_ptr<Learner> make_quadratic(const ModelSpec& spec);

}  // namespace veche
