#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/model/tensor_layout.h"

namespace veche {

// What another program reads: raw numbers, a file for each list, and index.json, which tells what
// they are.
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  template <class T>
  std::string write(const std::string& name, const std::vector<T>& values) {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
    return name;
  }

  // Names, shapes and files of all tensors of a flat vector, in PyTorch's plain order.
  nlohmann::json write_tensors(const std::string& prefix, const std::vector<TensorLayout>& layout,
                               std::span<const float> flat) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const TensorLayout& tensor : layout)
      tensors.push_back({{"name", tensor.name},
                         {"shape", tensor.shape},
                         {"file", write(prefix + tensor.name, gather(tensor, flat))}});
    return tensors;
  }

  void write_index(const nlohmann::json& index) {
    std::ofstream(path_ / "index.json") << index.dump(1) << '\n';
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<float> channels_first(const std::vector<float>& images, const Shape& shape) {
  TensorLayout pixels;
  const std::int64_t c = shape.channels, h = shape.height, w = shape.width;
  pixels.shape = {static_cast<std::int64_t>(images.size() / shape.size()), c, h, w};
  pixels.strides = {c * h * w, 1, w * c, c};
  return gather(pixels, images);
}

}  // namespace veche
