#include "veche/model/torch/import/script_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <memory>

#include "veche/errors.h"

namespace veche::torch_model {
namespace {

// Whether the rest of the entry is readable and matches its checksum.
bool is_whole(archive* reader) {
  const void* block = nullptr;
  std::size_t size = 0;
  std::int64_t offset = 0;
  int status = ARCHIVE_OK;
  while (status == ARCHIVE_OK) status = archive_read_data_block(reader, &block, &size, &offset);
  return status == ARCHIVE_EOF;
}

}  // namespace

void check_script_archive(const std::string& file, const std::string& who) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_format_zip_seekable(reader.get());
  if (archive_read_open_filename(reader.get(), file.c_str(), kBlock) != ARCHIVE_OK) return;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
    const char* name = archive_entry_pathname(entry);
    const std::string called = name == nullptr ? "?" : name;
    if (!is_whole(reader.get()))
      throw RequestError(who + " is damaged: its part '" + called +
                         "' does not have the checksum that the file gives for it; save or copy it again");
  }
}

}  // namespace veche::torch_model
