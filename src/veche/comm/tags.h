#pragma once

#include "veche/tag.h"

namespace veche {

// The conversations of a run, all of them. Those of a strategy, such as the parts of a gradient or the two
// directions between workers and a server, are children of `strategy`.
namespace tags {
inline constexpr Tag strategy{1};          // what the nodes' models agree by
inline constexpr Tag control{2};           // barriers, evaluations and checkpoints of all nodes
inline constexpr Tag samples{3};           // samples lent for an epoch
inline constexpr Tag progress{4};          // nodes in step: how it goes, and whether to stop
inline constexpr Tag to_coordinator{5};    // asynchronous nodes: what they have done
inline constexpr Tag from_coordinator{6};  // and what they shall do
inline constexpr Tag shared_vector{7};     // names memory that all nodes share, no messages
inline constexpr Tag pipeline{8};          // between the stages of a model: activations, gradients, labels
inline constexpr Tag stage_control{9};     // evaluations of models in stages
inline constexpr Tag state{10};            // what a node lacks when a view begins
inline constexpr Tag nobody{15};           // never sent: what a node waits for to sleep
}  // namespace tags

}  // namespace veche
