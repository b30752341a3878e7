#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace veche {

// The whole of a file that somebody named. Regular files only, told before anything is read of them, so that
// neither a pipe without a writer is waited for nor an endless device read; and not more than `most` bytes.
// Throws RequestError: "WHAT cannot be read: it is a folder", where `what` is "the configuration my.toml".
std::string read_text(const std::filesystem::path& file, const std::string& what, std::uintmax_t most);

// Throws the same where it is no regular file that can be opened; for files that others read.
void check_regular(const std::filesystem::path& file, const std::string& what);

}  // namespace veche
