#pragma once

#include <string>

namespace veche {

// Every configuration key with its default and meaning, as the page docs/configuration.md.
std::string config_page();

}  // namespace veche
