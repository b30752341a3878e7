#include "veche/base/files/read_text.h"

#include "veche/base/files/input_file.h"
#include "veche/errors.h"

namespace veche {

// To the end, whatever size the system tells: files that it makes up have none.
std::string read_text(const std::filesystem::path& file, const std::string& what, std::uintmax_t most) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const InputFile in(file, what);
  const auto refuse_if = [&](bool too_long) {
    if (too_long)
      throw RequestError(what + " cannot be read: it has more than " + std::to_string(most) + " bytes");
  };
  refuse_if(in.size() > most);
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const std::size_t count = in.read(before, std::as_writable_bytes(std::span(text).subspan(before)));
    text.resize(before + count);
    refuse_if(text.size() > most);
    if (count < kPiece) return text;
  }
}

void check_regular(const std::filesystem::path& file, const std::string& what) {
  const InputFile opened(file, what);
}

}  // namespace veche
