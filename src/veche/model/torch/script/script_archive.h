#pragma once

#include <string>

namespace veche::torch_model {

// Throws RequestError, beginning with `who`, where the bytes of an entry of a ZIP archive do not have the
// CRC-32 that the archive gives them. PyTorch's own reader compares none, and damaged weights would be
// trained without a word. A file that is no such archive passes: loading it fails.
void check_script_archive(const std::string& file, const std::string& who);

}  // namespace veche::torch_model
