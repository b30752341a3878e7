#pragma once

#include <filesystem>
#include <vector>

namespace veche::cli {

// What the commands can draw: runs them, small, each as a process of this program, and puts their pictures
// and gallery.md, which shows them beside the commands, into the folder, which exists or is made. Gives what
// was written. Throws RunError when a command fails; the folder then is as it was.
std::vector<std::filesystem::path> make_gallery(const std::filesystem::path& folder);

}  // namespace veche::cli
