#pragma once

namespace veche {

// From now on a program that touches mapped bytes of a file which somebody has cut off meanwhile ends with a
// sentence that names the file, and exit code 1, instead of being killed by SIGBUS. Sets are asked for their
// files' lengths before every sample (MappedFile::still_has), so this is for the moment between asking and
// reading.
void explain_cut_files();

}  // namespace veche
