// The module veche_archive: tar files by libarchive. A module because its fifteen libraries would
// slow the start of every command.
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "veche/base/module_api.h"
#include "veche/data/formats/archive/archive.h"
#include "veche/errors.h"

namespace veche {
namespace {

using Reader = std::unique_ptr<archive, int (*)(archive*)>;

// Stores many small files in few large blocks.
class Arena {
 public:
  std::span<const std::uint8_t> keep(std::span<const std::uint8_t> bytes) {
    if (bytes.size() > left_.size()) {
      const std::size_t size = std::max(kPiece, bytes.size());
      // Not make_shared, which would zero the block first.
      std::shared_ptr<std::uint8_t[]> piece(new std::uint8_t[size]);
      left_ = {piece.get(), size};
      pieces_.push_back(std::move(piece));
    }
    std::copy(bytes.begin(), bytes.end(), left_.begin());
    const auto kept = left_.first(bytes.size());
    left_ = left_.subspan(bytes.size());
    return kept;
  }
  std::vector<std::shared_ptr<const void>> pieces() && { return std::move(pieces_); }

 private:
  static constexpr std::size_t kPiece = std::size_t{16} << 20;
  std::span<std::uint8_t> left_;
  std::vector<std::shared_ptr<const void>> pieces_;
};

std::string member_name(archive_entry* entry) {
  const char* name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = archive_entry_pathname(entry);
  return name == nullptr ? "" : name;
}

std::string reason(archive* reader) {
  const char* text = archive_error_string(reader);
  return text == nullptr ? "no reason given" : text;
}

// Unpacks a member of a compressed archive. Returns false if it is truncated or damaged.
bool unpack(archive* reader, std::vector<std::uint8_t>& bytes) {
  bytes.clear();
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    std::int64_t offset = 0;
    const int status = archive_read_data_block(reader, &block, &size, &offset);
    if (status == ARCHIVE_EOF) return true;
    // Sparse files are for disk images; here a hole would be an image of zeros.
    if (status != ARCHIVE_OK || offset < 0 || static_cast<std::size_t>(offset) != bytes.size()) return false;
    const auto* begin = static_cast<const std::uint8_t*>(block);
    bytes.insert(bytes.end(), begin, begin + size);
  }
}

Archive read(std::span<const std::uint8_t> bytes, const std::string& name) {
  const Reader reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    throw RequestError(fmt::format("'{}' is no tar archive ({})", name, reason(reader.get())));
  const bool packed = archive_filter_code(reader.get(), 0) != ARCHIVE_FILTER_NONE;

  Archive result;
  Arena arena;
  std::vector<std::uint8_t> unpacked;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      if (result.members.empty())
        throw RequestError(
            fmt::format("'{}' is no tar archive, or a damaged one ({})", name, reason(reader.get())));
      result.damage = reason(reader.get());
      break;
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) continue;
    std::string member = member_name(entry);
    const std::int64_t size = archive_entry_size(entry);
    if (!packed && archive_entry_sparse_count(entry) == 0) {
      // After the header, the number of bytes consumed is the offset of the member's data.
      const std::int64_t at = archive_filter_bytes(reader.get(), 0);
      if (at < 0 || size < 0 || static_cast<std::uint64_t>(at) > bytes.size() ||
          static_cast<std::uint64_t>(size) > bytes.size() - static_cast<std::uint64_t>(at)) {
        result.damage = fmt::format("'{}' in it is cut off", member);
        break;
      }
      result.members.push_back(
          {std::move(member), bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size))});
      continue;
    }
    if (!unpack(reader.get(), unpacked)) {
      result.damage = fmt::format("'{}' in it does not unpack: {}", member, reason(reader.get()));
      break;
    }
    result.members.push_back({std::move(member), arena.keep(unpacked)});
  }
  result.owners = std::move(arena).pieces();
  return result;
}

}  // namespace
}  // namespace veche

extern "C" VECHE_MODULE_API void veche_read_archive(std::span<const std::uint8_t> bytes,
                                                    const std::string& name, veche::Archive& result) {
  result = veche::read(bytes, name);
}
