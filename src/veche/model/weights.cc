#include "veche/model/weights.h"

#include <algorithm>
#include <map>
#include <set>

#include "veche/base/files/mapped_file.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/model/gpt_weights.h"
#include "veche/model/tensor_layout.h"

namespace veche {
namespace {

bool may_be_absent(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

// The tensors of a file, each to be used once.
class Supply {
 public:
  Supply(const Safetensors& file, std::string origin) : origin_(std::move(origin)) {
    for (const StoredTensor& tensor : file.tensors) tensors_.emplace(tensor.name, &tensor);
  }

  // Reads the flat vector that replaces `present`.
  std::vector<float> fill(const std::vector<TensorLayout>& layout, std::span<const float> present) {
    std::vector<float> flat(present.begin(), present.end());
    for (const TensorLayout& wanted : layout)
      if (const StoredTensor* found = take(wanted)) scatter(wanted, floats_of(*found, origin_), flat);
    return flat;
  }

  bool has_given(const std::string& name) const { return given_.contains(name); }

  const StoredTensor* take(const TensorLayout& wanted) {
    given_.insert(wanted.name);
    const auto found = tensors_.find(wanted.name);
    if (may_be_absent(wanted.name)) {
      if (found != tensors_.end()) tensors_.erase(found);
      return nullptr;
    }
    if (found == tensors_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : tensors_) names.push_back(name);
      const std::string near = nearest(wanted.name, names);
      refuse("has no tensor '" + wanted.name + "', which the model needs" +
             (near.empty() ? "" : "; the nearest is '" + near + "'"));
    }
    const StoredTensor& tensor = *found->second;
    if (tensor.shape != wanted.shape)
      refuse("has the tensor '" + wanted.name + "' of shape " + text_of(tensor.shape) + ", the model needs " +
             text_of(wanted.shape));
    tensors_.erase(found);
    return &tensor;
  }

  void check_that_none_is_left() const {
    for (const auto& [name, tensor] : tensors_)
      if (!may_be_absent(name)) refuse("has a tensor '" + name + "', which the model does not have");
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw RequestError("'" + origin_ + "' " + why); }

  const std::string origin_;
  std::map<std::string, const StoredTensor*> tensors_;
  std::set<std::string> given_;  // names already requested
};

}  // namespace

void load_weights(Learner& learner, const std::filesystem::path& safetensors, const std::string& what) {
  load_weights(learner, safetensors, learner.parameter_layout(), learner.buffer_layout(), what);
}

void load_weights(Learner& stage, const std::filesystem::path& safetensors,
                  const std::vector<TensorLayout>& all_parameters,
                  const std::vector<TensorLayout>& all_buffers, const std::string& what) try {
  const MappedFile file(safetensors);
  Safetensors content = parse_safetensors(file.bytes(), safetensors.string());
  accept_published_gpt(content, all_parameters, safetensors.string());
  Supply supply(content, safetensors.string());
  const std::vector<float> parameters = supply.fill(stage.parameter_layout(), stage.parameters());
  const std::vector<float> buffers = supply.fill(stage.buffer_layout(), stage.buffers());
  // Tensors of other stages: checked but not used.
  for (const auto* all : {&all_parameters, &all_buffers})
    for (const TensorLayout& tensor : *all)
      if (!supply.has_given(tensor.name)) supply.take(tensor);
  supply.check_that_none_is_left();
  std::ranges::copy(parameters, stage.parameters().begin());
  std::ranges::copy(buffers, stage.buffers().begin());
} catch (const RequestError& error) {
  throw RequestError(what + error.what());
}

void add_tensors(SafetensorsWriter& writer, const std::vector<TensorLayout>& layout,
                 std::span<const float> flat) {
  for (const TensorLayout& tensor : layout) writer.add(tensor.name, tensor.shape, gather(tensor, flat));
}

}  // namespace veche
