#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace veche {

// The safetensors format: eight bytes with the length of a JSON header, the header, the data.
// Little-endian; tensors are row-major.

struct StoredTensor {
  std::string name;
  std::string type;  // "F32", "BF16", "I64" ..
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // inside the file; unaligned
};

struct Safetensors {
  std::vector<StoredTensor> tensors;            // sorted by name
  std::map<std::string, std::string> metadata;  // free text of the writer
};

// Parses and checks the header: the tensors must fill the rest of the file without gaps or
// overlaps. `origin` names the file in the RequestError. The result borrows `file`.
Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& origin);

// The values of a tensor of type F32, F64, F16 or BF16; RequestError for other types.
std::vector<float> floats_of(const StoredTensor& tensor, const std::string& origin);

// Builds a file in memory.
class SafetensorsWriter {
 public:
  void note(const std::string& key, const std::string& value) { metadata_[key] = value; }
  // `numbers` must fit the shape. Names must be unique.
  void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> numbers);
  // The bytes of the file in order; owned by the writer.
  std::vector<std::span<const std::byte>> parts();

 private:
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
  };
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
  std::string head_;
};

}  // namespace veche
