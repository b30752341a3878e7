#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "veche/data/formats/gzip_file.h"

namespace veche {

// A CSV file, perhaps packed with gzip or zstd, as blocks of whole rows. The first line names the
// columns. Throws RequestError naming the file and the line. One thread at a time.
class CsvFile {
 public:
  explicit CsvFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  char separator() const { return separator_; }
  const std::vector<std::string>& columns() const { return columns_; }

  struct Block {
    std::size_t number = 0;
    std::uint64_t first_line = 1;  // of the file, counted from 1
    std::vector<char> memory;      // reused by the next call
    std::string_view rows() const { return {memory.data(), memory.size()}; }
  };
  // False: there are no more rows.
  bool next(Block& block);

  // About how many blocks of equal size the file has; 0: not known, as it is packed.
  std::uint64_t size() const { return size_; }

 private:
  std::size_t fill(std::vector<char>& memory, std::size_t from);
  void read_head();

  std::filesystem::path path_;
  PackedFile file_;
  std::uint64_t size_ = 0;
  char separator_ = ',';
  std::vector<std::string> columns_;
  std::vector<char> rest_;  // read, and not given out yet
  std::uint64_t line_ = 1;
  std::size_t number_ = 0;
  bool ended_ = false;
};

}  // namespace veche
