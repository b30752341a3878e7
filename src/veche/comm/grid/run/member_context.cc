#include "veche/comm/grid/run/member_context.h"

#include <unistd.h>

#include <array>

namespace veche::grid {

std::string name_of(const GridOptions& options) {
  if (!options.name.empty()) return options.name;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Message as_message(const std::string& text) {
  MessagePool pool;
  return pool.copy_of(std::span<const char>(text));
}

std::string_view text_view(const Message& message) {
  const auto letters = message.as<char>();
  return {letters.data(), letters.size()};
}

}  // namespace veche::grid
