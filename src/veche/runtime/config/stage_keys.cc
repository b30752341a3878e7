#include "veche/runtime/config/stage_keys.h"

#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/key_words.h"

namespace veche {

PipelineCut read_pipeline_cut(const Value& value) {
  if (const auto* word = std::get_if<std::string>(&value.data)) return {of_word<PipelineCut::By>(*word)};
  const auto* places = std::get_if<Value::List>(&value.data);
  if (places == nullptr)
    throw RequestError("pipeline.cut must be \"time\", \"parameters\", \"layers\" or a list, not " +
                       to_toml(value));
  PipelineCut cut{PipelineCut::By::places};
  for (const Value& item : *places) {
    const auto* place = std::get_if<std::int64_t>(&item.data);
    if (place == nullptr || *place <= (cut.places.empty() ? 0 : cut.places.back()))
      throw RequestError("pipeline.cut must hold whole numbers from 1 on, ascending, not " + to_toml(value));
    cut.places.push_back(*place);
  }
  return cut;
}

Recompute read_recompute(const Value& value) {
  if (const auto* all = std::get_if<bool>(&value.data)) return *all ? Recompute::all : Recompute::none;
  if (!std::holds_alternative<std::string>(value.data))
    throw RequestError("pipeline.recompute must be true, false or \"except-last\", not " + to_toml(value));
  return Recompute::except_last;
}

Value written(const PipelineCut& cut) {
  if (cut.by != PipelineCut::By::places) return {word_of(cut.by)};
  Value::List places;
  for (const std::int64_t place : cut.places) places.push_back({place});
  return {std::move(places)};
}

Value written(Recompute recompute) {
  if (recompute == Recompute::except_last) return {std::string("except-last")};
  return {recompute == Recompute::all};
}

}  // namespace veche
