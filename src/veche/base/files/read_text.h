#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace veche {

// Reads a whole file named by the user, at most `most` bytes. Only regular files are read, so a
// pipe without a writer cannot block and an endless device is not read. Throws RequestError: "WHAT
// cannot be read: it is a folder", where `what` is "the configuration my.toml".
std::string read_text(const std::filesystem::path& file, const std::string& what, std::uintmax_t most);

// Throws the same error unless the file is regular and can be opened. For files read by other
// libraries.
void check_regular(const std::filesystem::path& file, const std::string& what);

}  // namespace veche
