#pragma once

#include <memory>
#include <span>

#include "veche/model/operators.h"
#include "veche/model/stage.h"
#include "veche/model/zoo.h"

namespace veche {

// Implemented by a module with models, for the zoo. Any thread. Learners of one engine share
// prepared passes and may outlive the engine.
class ModelEngine {
 public:
  virtual ~ModelEngine() = default;
  // Throws RequestError if an input or an option does not fit the model. `like`: see Learners
  // (model/zoo.h); may be null.
  virtual std::unique_ptr<Learner> make_learner(const ModelSpec& spec, Learner* like) const = 0;
  // See Learners::make_stage and describe_blocks.
  virtual std::unique_ptr<Stage> make_stage(const ModelSpec& spec, const StageSpec& stage,
                                            Learner* like) const = 0;
  virtual std::vector<BlockDescription> describe_blocks(const ModelSpec& spec) const = 0;
  virtual ModelDescription describe(const ModelSpec& spec) const = 0;
  // See operators_of.
  virtual OperatorGraph operators(const ModelSpec& spec, std::span<const float> parameters,
                                  std::span<const float> buffers) const = 0;
};

// The one symbol that such a module exports, as extern "C". The caller owns the engine.
using MakeModelEngine = ModelEngine*();
inline constexpr char kModelEngineSymbol[] = "veche_model_engine";

}  // namespace veche
