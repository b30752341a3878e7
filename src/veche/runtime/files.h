#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace veche {

// Writing that survives a kill or a power cut at any moment. All throw RunError naming the file and the
// reason.

// The bytes, synced to the disk, under this name; an old file of the name is there until the new one is
// whole.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::string_view text);

// Renames and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace veche
