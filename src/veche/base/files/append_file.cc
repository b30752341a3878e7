#include "veche/base/files/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "veche/base/files/files.h"

namespace veche {
namespace {

// Allocates disk space before writing, so that a concurrent reader never sees part of a record that
// does not fit. If the file system cannot allocate ahead, the write itself reports the error.
// Returns 0 or errno.
int reserve(int descriptor, std::size_t at, std::size_t bytes) {
  const bool reserved =
      ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0;
  return !reserved && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) ? errno : 0;
}

// Returns 0 or errno.
int write_at(int descriptor, std::string_view bytes, std::size_t at) {
  if (const int error = reserve(descriptor, at, bytes.size()); error != 0) return error;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::size_t>(written);
  }
  return 0;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(open_or_fail(file_, O_WRONLY | O_CREAT)) {
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) size_ = static_cast<std::size_t>(status.st_size);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

bool AppendFile::append(std::string record) {
  kept_bytes_ += record.size();
  kept_.push_back(std::move(record));
  const bool written = write_kept();
  for (; kept_bytes_ > kMostKept; ++dropped_) {  // drop the oldest; the newest records show the current state
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
  return written;
}

bool AppendFile::write_kept() {
  if (kept_.empty()) return dropped_ == 0;
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && status.st_nlink == 0)
    // writing would succeed but the file has no name any more
    return failed(file_.string() + " was removed");
  for (; !kept_.empty(); kept_.pop_front()) {
    const std::string& record = kept_.front();
    if (const int error = write_at(descriptor_, record, size_); error != 0) {
      // If truncation fails too, the next attempt overwrites the partial record.
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(size_));
      return failed(cannot_be(file_, "written", error));
    }
    size_ += record.size();
    kept_bytes_ -= record.size();
  }
  return dropped_ == 0;
}

bool AppendFile::sync() {
  if (!write_kept()) return false;
  return ::fsync(descriptor_) == 0 || failed(cannot_be(file_, "synced to the disk", errno));
}

bool AppendFile::failed(std::string why) {
  why_ = std::move(why);
  return false;
}

}  // namespace veche
