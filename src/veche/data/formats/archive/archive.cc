#include "veche/data/formats/archive/archive.h"

#include <algorithm>
#include <string_view>

#include "veche/base/files/mapped_file.h"
#include "veche/base/module/modules.h"

namespace veche {

Archive read_archive(std::span<const std::uint8_t> bytes, const std::string& name) {
  Archive archive;
  module_function<void(std::span<const std::uint8_t>, const std::string&, Archive&)>(
      modules::kArchive, "veche_read_archive")(bytes, name, archive);
  return archive;
}

Archive map_archive(const std::filesystem::path& path) {
  auto file = std::make_shared<MappedFile>(path);
  Archive archive = read_archive(file->octets(), path.string());
  archive.files.push_back(std::move(file));
  return archive;
}

bool looks_like_archive(std::span<const std::uint8_t> first_bytes) {
  struct Mark {
    std::size_t at;
    std::string_view bytes;
  };
  using namespace std::string_view_literals;
  constexpr Mark kMarks[] = {{257, "ustar"sv},
                             {0, "\x28\xb5\x2f\xfd"sv},
                             {0, "\x1f\x8b"sv},
                             {0,
                              "\xfd"
                              "7zXZ\0"sv},
                             {0, "BZh"sv},
                             {0, "\x04\x22\x4d\x18"sv}};
  return std::ranges::any_of(kMarks, [&](const Mark& mark) {
    return first_bytes.size() >= mark.at + mark.bytes.size() &&
           std::equal(mark.bytes.begin(), mark.bytes.end(),
                      first_bytes.begin() + static_cast<std::ptrdiff_t>(mark.at),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
  });
}

}  // namespace veche
