#pragma once

#include <string>

namespace veche::cli {

// `veche data inspect` of a table: what each column holds. Throws RunError where rows are damaged.
void inspect_table(const std::string& file, int threads, bool json);

}  // namespace veche::cli
