#pragma once

#include <memory>
#include <span>

#include "veche/model/operators.h"
#include "veche/model/stage.h"
#include "veche/model/zoo.h"

namespace veche {

// What a module with models gives to the zoo. Any thread. Learners of one engine share what they prepare for
// their passes, and outlive it.
class ModelEngine {
 public:
  virtual ~ModelEngine() = default;
  // Throws RequestError for an input or an option that does not fit the model.
  // `like`: see Learners (model/zoo.h); may be null.
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

// The one symbol such a module exports, as extern "C"; the caller owns the engine.
using MakeModelEngine = ModelEngine*();
inline constexpr char kModelEngineSymbol[] = "veche_model_engine";

}  // namespace veche
