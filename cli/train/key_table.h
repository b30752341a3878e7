#pragma once

#include <string>

namespace veche::cli {

// Every configuration key with its default and meaning, as the page docs/configuration.md.
std::string keys_page();

}  // namespace veche::cli
