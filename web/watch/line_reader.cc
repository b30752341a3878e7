#include "web/watch/line_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "veche/base/files/input_file.h"
#include "veche/errors.h"

namespace veche::web {
namespace {

constexpr std::size_t kMostPiece = 8U << 20U;  // bytes read at a time, since others wait meanwhile

}  // namespace

std::string piece_of(const std::filesystem::path& file, std::uintmax_t at, std::size_t most) {
  std::string piece(most, '\0');
  try {
    piece.resize(InputFile(file).read(at, std::as_writable_bytes(std::span(piece))));
  } catch (const RequestError&) {  // replaced or removed: try again next time
    piece.clear();
  }
  return piece;
}

bool LineReader::read(std::vector<std::string>& lines) {
  lines.clear();
  behind_ = false;
  struct stat facts {};
  if (::stat(file_.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const auto size = static_cast<std::uintmax_t>(facts.st_size);
  const bool anew = inode_ != facts.st_ino || size < at_;  // replaced or truncated
  if (anew) {
    at_ = 0;
    rest_.clear();
    inode_ = facts.st_ino;
  }
  if (size == at_) return anew;
  const std::string piece =
      piece_of(file_, at_, static_cast<std::size_t>(std::min<std::uintmax_t>(size - at_, kMostPiece)));
  at_ += piece.size();
  behind_ = at_ < size && !piece.empty();
  rest_ += piece;
  std::size_t from = 0;
  for (std::size_t end; (end = rest_.find('\n', from)) != std::string::npos; from = end + 1)
    lines.push_back(rest_.substr(from, end - from));
  rest_.erase(0, from);
  return anew;
}

}  // namespace veche::web
