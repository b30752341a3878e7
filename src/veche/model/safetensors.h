#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace veche {

// The file format in which people exchange weights: eight bytes with the length of a JSON header, the header,
// the numbers. Little-endian, tensors in plain order, the last index fastest.

struct StoredTensor {
  std::string name;
  std::string type;  // "F32", "BF16", "I64" ..
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // inside the file; aligned to nothing
};

struct Safetensors {
  std::vector<StoredTensor> tensors;            // by name
  std::map<std::string, std::string> metadata;  // what the writer had to say
};

// Looks at the header alone, and at every length in it: the tensors fill the rest of the file without holes
// or overlap. `origin` names the file in the RequestError that tells what is wrong. Refers to `file`.
Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& origin);

// The numbers of a tensor of type F32, F64, F16 or BF16; RequestError for other types.
std::vector<float> floats_of(const StoredTensor& tensor, const std::string& origin);

// Puts a file together in memory.
class SafetensorsWriter {
 public:
  void note(const std::string& key, const std::string& value) { metadata_[key] = value; }
  // `numbers` has as many as the shape; a name only once.
  void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> numbers);
  // The bytes of the file, one after the other; they belong to the writer.
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
