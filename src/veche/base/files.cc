#include "veche/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "veche/base/errors.h"

namespace veche {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw RunError(file.string() + " cannot be " + what + ": " + std::generic_category().message(errno));
}

int open_or_fail(const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(file, "opened");
  return descriptor;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(open_or_fail(file_, O_WRONLY | O_CREAT | O_TRUNC)) {}

OutputFile::~OutputFile() { ::close(descriptor_); }

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail(file_, "written");
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0) fail(file_, "synced to the disk");
}

void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts) {
  std::filesystem::path unfinished = file;
  unfinished += ".new";
  {
    OutputFile out(unfinished);
    for (const auto& part : parts) out.write(part);
    out.sync();
  }
  rename_durably(unfinished, file);
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text))};
  write_file(file, parts);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "given its name");
  sync_folder(to.has_parent_path() ? to.parent_path() : std::filesystem::path("."));
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open_or_fail(folder, O_RDONLY | O_DIRECTORY);
  const bool synced = ::fsync(descriptor) == 0;
  const int why = errno;
  ::close(descriptor);
  errno = why;
  if (!synced) fail(folder, "synced to the disk");
}

}  // namespace veche
