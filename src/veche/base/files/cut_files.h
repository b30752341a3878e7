#pragma once

namespace veche {

// Installs a SIGBUS handler. A program that touches mapped bytes of a file that was truncated
// meanwhile then ends with a sentence naming the file, and exit code 1. Data sets check file
// lengths before every sample (MappedFile::still_has), so the handler covers only the moment
// between check and read.
void explain_cut_files();

}  // namespace veche
