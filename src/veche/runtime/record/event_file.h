#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "veche/base/files/append_file.h"

namespace veche {

// Scalars in TensorBoard's event format (TFRecord frames around protocol-buffer messages). The few
// fields used are encoded by hand: the schema is not packaged, and it is three messages. A test
// decodes them with protoc.
class EventFile {
 public:
  // `from_step`: tells TensorBoard to discard records of later steps, which an interrupted run
  // left. Throws RunError if the file cannot be made.
  EventFile(const std::filesystem::path& folder, std::uint64_t from_step);

  void scalar(std::string_view name, std::uint64_t step, double value);
  // Writes the pending records, all or none: readers stop at an incomplete record.
  void flush();
  AppendFile& file() { return file_; }

 private:
  void record(std::string_view event);

  AppendFile file_;
  std::string records_;  // not handed over yet
};

}  // namespace veche
