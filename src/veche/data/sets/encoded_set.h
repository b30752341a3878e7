#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/listing.h"

namespace veche {

// Labelled images as the files they are, JPEG or PNG, to be read in any order. Immutable; any thread may
// read.
class EncodedSet {
 public:
  virtual ~EncodedSet() = default;

  virtual std::size_t size() const = 0;
  virtual std::int64_t label(std::size_t index) const = 0;
  virtual std::string name(std::size_t index) const = 0;         // for people: with the place it lies in
  virtual std::string name_inside(std::size_t index) const = 0;  // wherever the set lies: "train/cat/1.jpg"
  // The bytes of one file: where they lie, when memory holds them, else read into `room`. Throws Damaged
  // with a sentence part that has no subject ("has vanished").
  virtual std::span<const std::uint8_t> bytes(std::size_t index, std::vector<std::uint8_t>& room) const = 0;
};

// Files in a folder, opened when they are asked for.
std::shared_ptr<const EncodedSet> files_of_folder(std::string folder, std::shared_ptr<const Files> files,
                                                  std::vector<Listing::Item> items);

// Files that lie in memory, such as the members of an archive: `files` and `contents` go together.
struct Contents {
  std::vector<std::span<const std::uint8_t>> files;
  std::vector<std::shared_ptr<const void>> owners;
  MappedFiles mapped;  // that some of the files lie in
};
std::shared_ptr<const EncodedSet> files_in_memory(std::shared_ptr<const Files> files,
                                                  std::shared_ptr<const Contents> contents,
                                                  std::vector<Listing::Item> items);

}  // namespace veche
