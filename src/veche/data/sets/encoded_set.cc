#include "veche/data/sets/encoded_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace veche {
namespace {

constexpr std::size_t kLargestImageFile = std::size_t{1} << 30;

// A file descriptor closed by its destructor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail() {
  if (errno == ENOENT) throw Damaged("has vanished");
  throw Damaged(fmt::format("cannot be read ({})", std::generic_category().message(errno)));
}

void read_file(const std::string& path, std::vector<std::uint8_t>& room) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (file.value() < 0 || ::fstat(file.value(), &facts) != 0) fail();
  if (!S_ISREG(facts.st_mode)) throw Damaged("is not a file");
  if (static_cast<std::size_t>(facts.st_size) > kLargestImageFile)
    throw Damaged("is too large to be an image");
  room.resize(static_cast<std::size_t>(facts.st_size));
  std::size_t done = 0;
  while (done < room.size()) {
    const ssize_t count = ::read(file.value(), room.data() + done, room.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    if (count == 0) break;  // the file was truncated; the decoder will notice
    done += static_cast<std::size_t>(count);
  }
  room.resize(done);
}

class ListedSet : public EncodedSet {
 public:
  ListedSet(std::shared_ptr<const Files> files, std::vector<Listing::Item> items)
      : files_(std::move(files)), items_(std::move(items)) {}

  std::size_t size() const override { return items_.size(); }
  std::int64_t label(std::size_t index) const override { return items_[index].label; }
  std::string name_inside(std::size_t index) const override { return files_->paths[file(index)]; }

 protected:
  std::size_t file(std::size_t index) const { return items_[index].file; }

  const std::shared_ptr<const Files> files_;
  const std::vector<Listing::Item> items_;
};

class FolderSet final : public ListedSet {
 public:
  FolderSet(std::string folder, std::shared_ptr<const Files> files, std::vector<Listing::Item> items)
      : ListedSet(std::move(files), std::move(items)), folder_(std::move(folder)) {}

  std::string name(std::size_t index) const override { return folder_ + "/" + name_inside(index); }
  std::span<const std::uint8_t> bytes(std::size_t index, std::vector<std::uint8_t>& room) const override {
    read_file(name(index), room);
    return room;
  }

 private:
  const std::string folder_;
};

class MemorySet final : public ListedSet {
 public:
  MemorySet(std::shared_ptr<const Files> files, std::shared_ptr<const Contents> contents,
            std::vector<Listing::Item> items)
      : ListedSet(std::move(files), std::move(items)), contents_(std::move(contents)) {}

  std::string name(std::size_t index) const override { return files_->place + ": " + name_inside(index); }
  std::span<const std::uint8_t> bytes(std::size_t index, std::vector<std::uint8_t>&) const override {
    const auto bytes = contents_->files[file(index)];
    if (const MappedFile* archive = file_of(contents_->mapped, bytes);
        archive != nullptr && !archive->still_has(bytes))
      throw Damaged("was cut off while the archive was in use");
    return bytes;
  }

 private:
  const std::shared_ptr<const Contents> contents_;
};

}  // namespace

std::shared_ptr<const EncodedSet> files_of_folder(std::string folder, std::shared_ptr<const Files> files,
                                                  std::vector<Listing::Item> items) {
  return std::make_shared<FolderSet>(std::move(folder), std::move(files), std::move(items));
}

std::shared_ptr<const EncodedSet> files_in_memory(std::shared_ptr<const Files> files,
                                                  std::shared_ptr<const Contents> contents,
                                                  std::vector<Listing::Item> items) {
  return std::make_shared<MemorySet>(std::move(files), std::move(contents), std::move(items));
}

}  // namespace veche
