#pragma once

#include <filesystem>
#include <vector>

namespace veche::cli {

// Runs small examples of all commands that draw, each as a process of this program. Puts their
// pictures and gallery.md, which shows them beside the commands, into the folder, which is created
// if necessary. Returns the files written. Throws RunError if a command fails; the folder is then
// unchanged.
std::vector<std::filesystem::path> make_gallery(const std::filesystem::path& folder);

}  // namespace veche::cli
