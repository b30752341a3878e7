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

// The files of a tar archive, in its order, without folders and links.
struct Archive {
  struct Member {
    std::string name;  // as stored: "train/cat/0001.jpg"
    std::span<const std::uint8_t> bytes;
  };
  std::vector<Member> members;
  std::string damage;                               // why reading stopped early; empty if it did not
  std::vector<std::shared_ptr<const void>> owners;  // own the members' memory if it is not mapped
  MappedFiles files;                                // the mapped archive
};

// Reads a tar archive, plain or compressed with zstd, gzip, xz, bzip2 or lz4, detected by content.
// A plain archive is used in place, in the given or mapped memory, and costs nothing until its
// members are accessed. The members of a compressed one are all unpacked into memory. A damaged
// archive yields its readable members. Throws RequestError if the bytes are not an archive, or if
// the archive module is missing.
Archive read_archive(std::span<const std::uint8_t> bytes, const std::string& name);
Archive map_archive(const std::filesystem::path& path);

// Whether the first bytes are those of a tar file or a supported compression. Needs no module.
bool looks_like_archive(std::span<const std::uint8_t> first_bytes);

}  // namespace veche
