#pragma once

#include <memory>

#include "veche/model/zoo.h"

namespace veche {

// f_i(x) = 1/2 sum_d a_id (x_d - b_id)^2 at node i, with its exact gradient, so that a strategy can
// be compared with exact arithmetic. Options: `a` and `b` have one entry per node, each a number or
// a list with one number per dimension; a single number applies to all nodes. `x0` is the common
// start, a number or one per dimension; with model.start = "different" each node draws its own.
// Batches are ignored. Throws RequestError if the lists do not fit the nodes or each other.
std::unique_ptr<Learner> make_quadratic(const ModelSpec& spec);

}  // namespace veche
