#pragma once

#include <memory>

#include "veche/channel.h"
#include "veche/comm/counted.h"
#include "veche/train/loop/plan.h"
#include "veche/train/measure/trace.h"
#include "veche/train/pipeline/pipeline.h"

namespace veche {

// A node's connections to the other nodes: its endpoint, its stage of the pipeline if the model is
// in stages, and one channel per subject. Belongs to the node's thread; helpers may use the
// endpoints.
class Connections {
 public:
  // The learner is a Stage if the plan has a pipeline. Learner and plan outlive it.
  Connections(std::unique_ptr<Endpoint> endpoint, MessagePool pool, Learner& learner,
              const TrainingPlan& plan);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  Endpoint& endpoint() const { return *endpoint_; }
  NodeId id() const { return endpoint_->id(); }
  std::size_t me() const { return static_cast<std::size_t>(id().value); }
  bool first() const { return me() == 0; }
  Time now() const { return endpoint_->now(); }

  Pipeline* pipeline() const { return pipeline_.get(); }  // null: this node has the whole model
  int stages() const { return stages_; }
  // The nodes that have the same part of the model, this one included: all, unless the model is in
  // stages.
  Endpoint& peers() const { return pipeline_ ? pipeline_->peers() : *endpoint_; }
  std::size_t replica() const { return static_cast<std::size_t>(peers().id().value); }
  std::size_t replicas() const { return static_cast<std::size_t>(peers().size()); }

  const Trace& trace() const { return trace_; }
  // Records what the node did; nothing unless run.trace is set.
  void span(const char* name, Time from, Time to) {
    if (traced_) trace_.span(name, from, to);
  }

 private:
  const std::unique_ptr<Endpoint> endpoint_;
  const int stages_;
  const bool traced_;
  Trace trace_;

 public:
  MessagePool pool;
  AdaptiveTimeout timeout;

 private:
  const std::unique_ptr<Pipeline> pipeline_;

 public:
  Channel control;                   // all nodes: evaluations, barriers, checkpoints
  Channel progress;                  // all nodes: progress reports
  Channel samples;                   // peers: samples lent for an epoch
  CountedEndpoint counted{peers()};  // counts the strategy's bytes by peer
  Channel strategy;                  // peers: the strategy's messages
  Channel stage_control;             // peers: evaluations of a model in stages
  Channel learners;                  // peers: the outside loops of driven learners
};

}  // namespace veche
