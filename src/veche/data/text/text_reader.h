#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "veche/data/formats/gzip_file.h"
#include "veche/data/sets/damage.h"

namespace veche {

// The files of a text: the path itself, or all files in a folder and its folders, in the order of
// their names. Hidden files are left out. Throws RequestError if there is none.
std::vector<std::filesystem::path> find_texts(const std::filesystem::path& path);

// A place in a file, for people.
struct TextPlace {
  std::uint64_t byte = 0;  // of the uncompressed text, from 0
  std::uint64_t line = 1;
};

// A text file, plain, gzip or zstd, read in blocks. Throws RequestError naming the file.
class TextReader {
 public:
  // `utf8`: broken UTF-8 is damage; under `skip` its bytes are left out. Otherwise bytes are bytes.
  TextReader(const std::filesystem::path& file, bool utf8, DamagePolicy policy);

  // The next block; false: the file has ended. Blocks end between characters, and between lines if
  // lines are not very long.
  bool next(std::string& block);
  // Of an offset in the block that `next` returned last.
  TextPlace place(std::size_t offset) const;
  const std::filesystem::path& path() const { return path_; }
  std::uint64_t damaged() const { return damaged_; }  // bytes left out

 private:
  void check(std::string& block);

  const std::filesystem::path path_;
  const bool utf8_;
  const DamagePolicy policy_;
  PackedFile file_;
  std::string ahead_;  // read, but not given yet
  bool ended_ = false;
  TextPlace at_, end_;  // where the block begins and ends
  std::string block_;
  std::uint64_t damaged_ = 0;
};

// Number of characters of valid UTF-8.
std::uint64_t count_characters(std::string_view text);
// Offset of a character of valid UTF-8.
std::size_t offset_of_character(std::string_view text, std::uint64_t character);

}  // namespace veche
