#pragma once

#include <string>
#include <vector>

namespace veche::cli {

struct CompletionScript {
  std::string shell;
  std::string text;  // the file completion.SHELL
};
const std::vector<CompletionScript>& completion_scripts();

}  // namespace veche::cli
