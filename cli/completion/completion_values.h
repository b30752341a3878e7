#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veche::cli {

// A candidate for the word at the cursor, with a description for shells that show one.
struct Candidate {
  std::string word;
  std::string what = {};
};

// Special candidates: the shell completes files or folders; `what` is the path typed so far.
constexpr std::string_view kFiles = "@files";
constexpr std::string_view kFolders = "@folders";

// Candidates for an option's value, by the option's type name ("RUN", "GRAPH", "KEY=VALUE", "{a,b}"
// ...). `typed` is the value so far, `line` all words of the command. Every candidate begins with
// `typed`. Unknown types have none.
std::vector<Candidate> value_candidates(std::string_view type, const std::string& typed,
                                        std::span<const std::string> line);

}  // namespace veche::cli
