#pragma once

#include <cstdint>

#include "veche/tag.h"

namespace veche {

// All conversations of a run. The tags and the numbers of children are part of the protocol between
// nodes: never change them. A strategy numbers the children of `strategy` in its own file.
namespace tags {
inline constexpr Tag strategy{1};          // what strategies exchange
inline constexpr Tag control{2};           // barriers, evaluations and checkpoints of all nodes
inline constexpr Tag samples{3};           // samples lent for an epoch
inline constexpr Tag progress{4};          // synchronous nodes: progress, and whether to stop
inline constexpr Tag to_coordinator{5};    // asynchronous nodes: reports
inline constexpr Tag from_coordinator{6};  // asynchronous nodes: orders
inline constexpr Tag shared_vector{7};     // names memory that all nodes share; no messages
inline constexpr Tag pipeline{8};          // between the stages of a model; see below
inline constexpr Tag stage_control{9};     // evaluations of models in stages; see below
inline constexpr Tag state{10};            // the start of a view; see below
inline constexpr Tag ending{11};           // learners without samples: whether the run ends
inline constexpr Tag learners{12};         // between the outside loops of driven learners
inline constexpr Tag nobody{15};           // never sent: a node waits for it to sleep

// Child of `samples`: no node sends an epoch's samples before all nodes have freed those of the
// last epoch.
inline constexpr std::uint64_t kEpochBarrier = 0;

// Between the stages of a replica, in every step.
inline constexpr Tag activations = pipeline.child(0);
inline constexpr Tag activation_gradients = pipeline.child(1);
inline constexpr Tag targets = pipeline.child(2);
inline constexpr Tag stage_sums = pipeline.child(3);  // sums over the stages, such as squared norms

// Between the stages of a replica, outside of steps. The first is between the nodes of one stage.
inline constexpr Tag stage_peers = stage_control.child(0);
inline constexpr Tag test_activations = stage_control.child(1);
inline constexpr Tag test_credits = stage_control.child(2);  // the next stage has room for a batch
inline constexpr Tag test_scores = stage_control.child(3);
inline constexpr Tag stage_orders = stage_control.child(4);  // of the first stage, and the answers to them
inline constexpr Tag step_settled =
    stage_control.child(5);  // the first stage, always the last, has its gradient

// Children of `ending`.
enum EndingTalk : std::uint64_t { kEndingQuestions = 0, kEndingAnswers = 1 };

// Children of `state`, and of its child kStates.
enum StateTalk : std::uint64_t {
  kDataMessages = 0,  // what every node tells about its data
  kStates = 1,        // roles in a state transfer; has the children of StateFetchTalk
  kRolesTaken = 8,    // models in stages: which node trains which stage
  kStageStates = 9,   // as kStates, among the nodes of a stage
  kCompleted = 10,    // the status of the nodes of a stage
  kAllStages = 11,    // what the stages must have in common
  kRunEnded = 12,     // to nodes without a stage: the run has ended
  kAllEnded = 13,     // among the nodes with a stage: the run has ended
  kParts = 14,        // parts of the model, for a checkpoint of the whole
  kSchemes = 15,      // members with tables: sums of their columns
  kWaiting = 64,      // never sent: a member waits for it to sleep
};

// Children of a conversation that copies a state.
enum StateFetchTalk : std::uint64_t { kStateRequests = 0, kStateAnswers = 1 };
}  // namespace tags

}  // namespace veche
