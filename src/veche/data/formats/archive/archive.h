#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "veche/base/files/mapped_file.h"

namespace veche {

// The files inside a tar archive, in its order; folders and links are left out.
struct Archive {
  struct Member {
    std::string name;  // as it is written there: "train/cat/0001.jpg"
    std::span<const std::uint8_t> bytes;
  };
  std::vector<Member> members;
  std::string damage;                               // why reading stopped before the end; empty: it did not
  std::vector<std::shared_ptr<const void>> owners;  // of the memory that the members lie in, unless that is
  MappedFiles files;                                // the archive itself
};

// tar, plain or packed with zstd, gzip, xz, bzip2 or lz4; told by looking. A plain one stays where it is, in
// the memory that was given or mapped, and costs nothing until its members are touched; of a packed one all
// members are unpacked into memory at once. What can be read of a damaged archive is there. Throws
// RequestError when these bytes are no archive at all, or the module of archives is missing.
Archive read_archive(std::span<const std::uint8_t> bytes, const std::string& name);
Archive map_archive(const std::filesystem::path& path);

// Whether the first bytes are those of a tar or of one of the packings above. Needs no module.
bool looks_like_archive(std::span<const std::uint8_t> first_bytes);

}  // namespace veche
