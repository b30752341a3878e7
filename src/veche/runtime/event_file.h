#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace veche {

// Scalars in TensorBoard's event format (TFRecord frames around protocol-buffer messages). The few fields
// used are encoded by hand: the schema is not packaged, and it is three messages. A test decodes them with
// protoc.
class EventFile {
 public:
  // `from_step`: what TensorBoard has of later steps, from a run that was interrupted, is to be forgotten.
  EventFile(const std::filesystem::path& folder, std::uint64_t from_step);

  void scalar(std::string_view name, std::uint64_t step, double value);
  void flush() { out_.flush(); }

 private:
  void record(std::string_view event);

  std::ofstream out_;
};

}  // namespace veche
