#include "veche/data/formats/pack/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <limits>

#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{4} << 20;

fs::path hidden_twin(const fs::path& out) {
  return out.parent_path() / ("." + out.filename().string() + ".packing");
}

// Normalises "set/" and "./set" to "set".
fs::path tidy(const fs::path& out) {
  fs::path path = fs::absolute(out).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

PackWriter::PackWriter(const fs::path& out, std::uint64_t shard_bytes)
    : out_(tidy(out)), unfinished_(hidden_twin(out_)), shard_bytes_(shard_bytes) {
  std::error_code error;
  if (fs::exists(out_, error))
    throw RequestError(fmt::format("'{}' exists; name another folder or remove it first", out.string()));
  if (!fs::is_directory(out_.parent_path(), error))
    throw RequestError(fmt::format("there is no folder '{}' to make '{}' in", out_.parent_path().string(),
                                   out_.filename().string()));
  fs::create_directory(unfinished_, error);
  lock_ = ::open(unfinished_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw RequestError(fmt::format("'{}' cannot be written to", out_.parent_path().string()));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw RequestError(fmt::format("another process is packing into '{}'", out.string()));
  }
  // Removes the remains of a killed writer. The folder itself stays, since the lock is on it.
  for (const fs::directory_entry& old : fs::directory_iterator(unfinished_)) fs::remove_all(old.path());
}

PackWriter::~PackWriter() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(unfinished_, ignored);
  ::close(lock_);
}

void PackWriter::begin_shard() {
  if (shard_) {
    shard_->write(std::as_bytes(std::span(buffer_)));
    shard_->sync();
    buffer_.clear();
  }
  if (shard_sizes_.size() > std::numeric_limits<std::uint16_t>::max())
    throw RequestError(
        "the set needs more shards than a packed set can have; make them larger (--shard-size)");
  shard_ = std::make_unique<OutputFile>(unfinished_ / shard_name(shard_sizes_.size()));
  shard_sizes_.push_back(0);
}

void PackWriter::add(const std::string& name, std::uint32_t label, std::span<const std::uint8_t> bytes,
                     bool test) {
  const std::string kept = name.substr(0, std::numeric_limits<std::uint16_t>::max());
  if (!shard_ || (shard_sizes_.back() > 0 && shard_sizes_.back() + kept.size() + bytes.size() > shard_bytes_))
    begin_shard();
  const std::size_t begin = buffer_.size();
  buffer_.insert(buffer_.end(), kept.begin(), kept.end());
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  const auto all = std::span<const std::uint8_t>(buffer_).subspan(begin);
  (test ? test_ : train_)
      .push_back({.offset = shard_sizes_.back(),
                  .checksum = packed_checksum(all),
                  .length = static_cast<std::uint32_t>(bytes.size()),
                  .label = label,
                  .shard = static_cast<std::uint16_t>(shard_sizes_.size() - 1),
                  .name_length = static_cast<std::uint16_t>(kept.size())});
  shard_sizes_.back() += all.size();
  total_ += all.size();
  if (buffer_.size() >= kBuffer) {
    shard_->write(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }
}

void PackWriter::commit(PackedIndex facts) {
  if (shard_) {
    shard_->write(std::as_bytes(std::span(buffer_)));
    shard_->sync();
  }
  facts.shard_sizes = shard_sizes_;
  facts.train = train_;
  facts.test = test_;
  const std::vector<std::uint8_t> index = write_packed_index(facts);
  {
    OutputFile file(unfinished_ / kPackedIndexName);
    file.write(std::as_bytes(std::span(index)));
    file.sync();
  }
  sync_folder(unfinished_);
  rename_durably(unfinished_, out_);
  committed_ = true;
}

}  // namespace veche
