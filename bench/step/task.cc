#include "bench/step/task.h"

#include <cstdlib>
#include <fstream>

#include "veche/errors.h"
#include "veche/model/tensor_layout.h"
#include "veche/random.h"

namespace veche {
namespace {

constexpr std::size_t kBatches = 8;

std::vector<float> channels_first(std::span<const float> images, const Shape& shape) {
  const auto pixels = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<float> result(images.size());
  for (std::size_t start = 0; start < images.size(); start += shape.size())
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels; ++c)
        result[start + c * pixels + p] = images[start + p * channels + c];
  return result;
}

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "veche-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw RunError("cannot make a folder for temporary files: " + name);
  return name;
}

}  // namespace

TrainingTask::TrainingTask(const ModelSpec& spec, int batch_size)
    : shape_(spec.input),
      size_(static_cast<std::size_t>(batch_size)),
      learner_(make_learner(spec)),
      images_(kBatches * size_ * shape_.size()),
      labels_(kBatches * size_),
      folder_(new_folder()) {
  RandomStream stream(spec.seed, "bench samples");
  for (float& pixel : images_) pixel = static_cast<float>(stream.normal());
  for (auto& label : labels_)
    label = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(spec.classes)));

  write_model();
  const std::vector<float> images = channels_first(images_, shape_);
  write("images", images.data(), images.size() * sizeof(float));
  write("labels", labels_.data(), labels_.size() * sizeof(std::int64_t));
}

TrainingTask::~TrainingTask() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TrainingTask::write_model() {
  const auto write_tensors = [&](const char* name, const std::vector<TensorLayout>& layout,
                                 std::span<const float> from) {
    std::vector<float> numbers;
    for (const TensorLayout& tensor : layout) {
      const std::vector<float> values = gather(tensor, from);
      numbers.insert(numbers.end(), values.begin(), values.end());
    }
    write(name, numbers.data(), numbers.size() * sizeof(float));
  };
  write_tensors("weights", learner_->parameter_layout(), learner_->parameters());
  write_tensors("buffers", learner_->buffer_layout(), learner_->buffers());
}

std::uint64_t TrainingTask::batches() const { return kBatches; }

Batch TrainingTask::batch(std::uint64_t step) const {
  const std::size_t start = step % kBatches * size_;
  return {std::span(images_).subspan(start * shape_.size(), size_ * shape_.size()),
          std::span(labels_).subspan(start, size_), shape_, step};
}

void TrainingTask::write(const std::string& name, const void* data, std::size_t bytes) {
  const std::filesystem::path path = folder_ / name;
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!file.flush()) throw RunError("cannot write " + path.string());
  files_[name] = path.string();
}

}  // namespace veche
