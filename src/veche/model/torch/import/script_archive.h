#pragma once

#include <string>

namespace veche::torch_model {

// Throws RequestError, starting with `who`, if an entry of the ZIP archive does not match its
// CRC-32. PyTorch's reader does not check it, and damaged weights would be trained silently. Files
// that are not ZIP archives pass; loading them fails.
void check_script_archive(const std::string& file, const std::string& who);

}  // namespace veche::torch_model
