#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/base/files/mapped_file.h"
#include "veche/data/formats/listing.h"

namespace veche {

// Labelled images as encoded files, JPEG or PNG, with random access. Immutable; any thread may
// read.
class EncodedSet {
 public:
  virtual ~EncodedSet() = default;

  virtual std::size_t size() const = 0;
  virtual std::int64_t label(std::size_t index) const = 0;
  virtual std::string name(std::size_t index) const = 0;         // for people: includes the location
  virtual std::string name_inside(std::size_t index) const = 0;  // relative to the set: "train/cat/1.jpg"
  // The bytes of one file: in place if they are in memory, otherwise read into `room`. Throws
  // Damaged with a clause without a subject ("has vanished").
  virtual std::span<const std::uint8_t> bytes(std::size_t index, std::vector<std::uint8_t>& room) const = 0;
};

// Files in a folder, opened on demand.
std::shared_ptr<const EncodedSet> files_of_folder(std::string folder, std::shared_ptr<const Files> files,
                                                  std::vector<Listing::Item> items);

// Files in memory, such as the members of an archive. `files` and `contents` correspond.
struct Contents {
  std::vector<std::span<const std::uint8_t>> files;
  std::vector<std::shared_ptr<const void>> owners;
  MappedFiles mapped;  // mapped files that contain some of the contents
};
std::shared_ptr<const EncodedSet> files_in_memory(std::shared_ptr<const Files> files,
                                                  std::shared_ptr<const Contents> contents,
                                                  std::vector<Listing::Item> items);

}  // namespace veche
