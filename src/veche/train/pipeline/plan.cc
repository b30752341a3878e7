#include "veche/train/pipeline/plan.h"

namespace veche {
namespace {

std::size_t before_stage(const PipelinePlan& plan, int stage, std::size_t BlockDescription::*floats) {
  const auto end =
      static_cast<std::size_t>(stage == plan.stages ? static_cast<int>(plan.blocks.size())
                                                    : plan.parts[static_cast<std::size_t>(stage)].from);
  std::size_t count = 0;
  for (std::size_t i = 0; i < end; ++i) count += plan.blocks[i].*floats;
  return count;
}

}  // namespace

std::size_t PipelinePlan::first_parameter(int stage) const {
  return before_stage(*this, stage, &BlockDescription::parameters);
}

std::size_t PipelinePlan::first_buffer(int stage) const {
  return before_stage(*this, stage, &BlockDescription::buffers);
}

}  // namespace veche
