#include "veche/base/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr int kNewFile = O_WRONLY | O_CREAT | O_TRUNC;

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw RunError(cannot_be(file, what, errno));
}

int open_called(const std::filesystem::path& called, const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(called, "opened");
  return descriptor;
}

std::filesystem::path parent_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

std::string cannot_be(const std::filesystem::path& file, const char* what, int error) {
  return file.string() + " cannot be " + what + ": " + std::generic_category().message(error);
}

int open_or_fail(const std::filesystem::path& file, int flags) { return open_called(file, file, flags); }

OutputFile::OutputFile(std::filesystem::path file)
    : called_(std::move(file)), descriptor_(open_or_fail(called_, kNewFile)) {}
OutputFile::OutputFile(const std::filesystem::path& file, std::filesystem::path called)
    : called_(std::move(called)), descriptor_(open_called(called_, file, kNewFile)) {}

OutputFile::~OutputFile() { ::close(descriptor_); }

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail(called_, "written");
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0) fail(called_, "synced to the disk");
}

std::filesystem::path place_of(const std::filesystem::path& file) {
  std::filesystem::path place = file;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(place, error); ++links) {
    if (links == 40) throw RequestError(file.string() + " is a link that leads in a circle");
    place = place.parent_path() / std::filesystem::read_symlink(place);
  }
  const auto status = std::filesystem::status(place, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw RequestError(file.string() + " is " +
                       (std::filesystem::is_directory(status) ? "a folder" : "a device or the like") +
                       "; a regular file or a new name is needed");
  return place;
}

void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts) {
  const std::filesystem::path place = place_of(file);
  std::filesystem::path unfinished = place;
  unfinished += ".new";
  ::unlink(unfinished.c_str());  // it may be a link to something else
  try {
    {
      OutputFile out(unfinished, file);
      for (const auto& part : parts) out.write(part);
      out.sync();
    }
    rename_durably(unfinished, place);
  } catch (...) {
    ::unlink(unfinished.c_str());
    throw;
  }
}

void write_file_in_unfinished(const std::filesystem::path& file,
                              std::span<const std::span<const std::byte>> parts) {
  ::unlink(file.c_str());  // it may be a link to something else
  try {
    OutputFile out(file);
    for (const auto& part : parts) out.write(part);
    out.sync();
  } catch (...) {
    ::unlink(file.c_str());
    throw;
  }
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text))};
  write_file(file, parts);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "given its name");
  sync_folder(parent_of(to));
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return;  // a folder may be writable but not readable
  if (descriptor < 0) fail(folder, "opened");
  const int why = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  errno = why;
  if (why != 0 && why != EINVAL && why != ENOTSUP)  // not every file system can sync folders
    fail(folder, "synced to the disk");
}

bool make_folder_durably(const std::filesystem::path& folder) {
  const std::filesystem::path path = (folder / "").parent_path();  // without a trailing slash
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int why = errno;
    if (why == EEXIST && std::filesystem::is_directory(path)) return false;
    errno = why == EEXIST ? ENOTDIR : why;
    fail(path, "made");
  }
  sync_folder(parent_of(path));
  return true;
}

}  // namespace veche
