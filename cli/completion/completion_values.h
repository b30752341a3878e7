#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veche::cli {

// One word that may stand at the cursor, and a line about it for shells that show one.
struct Candidate {
  std::string word;
  std::string what = {};
};

// Instead of a word: the shell completes files or folders; `what` is the path as far as it is typed.
constexpr std::string_view kFiles = "@files";
constexpr std::string_view kFolders = "@folders";

// What an option's value may be, told by the option's type name ("RUN", "GRAPH", "KEY=VALUE", "{a,b}" ...).
// `typed` is the value as far as it is written, `line` all words of the command. Every candidate begins with
// `typed`. Types that are not known have none.
std::vector<Candidate> value_candidates(std::string_view type, const std::string& typed,
                                        std::span<const std::string> line);

}  // namespace veche::cli
