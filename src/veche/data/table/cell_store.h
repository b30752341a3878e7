#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace veche {

// Numbers that are appended once and then read in any order. Many of them move to a file without a
// name in the system's temporary folder, which is mapped and vanishes with the store.
class CellStore {
 public:
  CellStore();
  ~CellStore();
  CellStore(CellStore&&) noexcept;
  CellStore& operator=(CellStore&&) noexcept;

  // Throws RunError where the temporary folder is full.
  void append(std::span<const float> cells);
  // After the last append.
  void finish();
  const float* data() const;

  static constexpr std::size_t kMostInMemory = 64 << 20;  // bytes

 private:
  struct File;
  void spill();

  std::vector<float> memory_;
  std::unique_ptr<File> file_;  // null: all are in memory
};

}  // namespace veche
