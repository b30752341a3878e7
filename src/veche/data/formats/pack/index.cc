#include "veche/data/formats/pack/index.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "veche/errors.h"

namespace veche {
namespace {

static_assert(std::endian::native == std::endian::little, "packed sets are little-endian and used in place");

constexpr std::uint64_t kIndexMagic = 0x4b4150'4548'4345'56;  // the bytes "VECHEPAK"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMostSide = 1 << 20;
constexpr std::uint32_t kMostChannels = 1 << 10;

struct IndexHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = kVersion;
  std::uint32_t kind = 0;
  std::uint32_t channels = 0, height = 0, width = 0;
  std::uint32_t classes = 0;
  std::uint32_t shards = 0;
  std::uint32_t reserved = 0;
  std::uint64_t train = 0, test = 0;
};
static_assert(sizeof(IndexHeader) == 56);

// Reads sequentially, never beyond the end.
class Cursor {
 public:
  Cursor(std::span<const std::uint8_t> bytes, const std::string& name) : left_(bytes), name_(name) {}

  template <class T>
  std::span<const T> array(std::uint64_t count) {
    if (count > left_.size() / sizeof(T)) refuse("is truncated");
    const auto bytes = left_.first(static_cast<std::size_t>(count) * sizeof(T));
    left_ = left_.subspan(bytes.size());
    return {reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count)};
  }
  template <class T>
  T value() {  // unaligned
    T result;
    std::memcpy(&result, array<std::uint8_t>(sizeof(T)).data(), sizeof(T));
    return result;
  }
  std::string text() {
    const auto length = value<std::uint32_t>();
    const auto characters = array<char>(length);
    return {characters.begin(), characters.end()};
  }
  bool at_end() const { return left_.empty(); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw RequestError(fmt::format("'{}' {}", name_, why));
  }

 private:
  std::span<const std::uint8_t> left_;
  const std::string& name_;
};

void check_entry(const PackedEntry& entry, const PackedIndex& index, const Cursor& cursor) {
  const std::uint64_t all = std::uint64_t{entry.name_length} + entry.length;
  if (entry.shard >= index.shard_sizes.size() || entry.offset > index.shard_sizes[entry.shard] ||
      all > index.shard_sizes[entry.shard] - entry.offset)
    cursor.refuse("names a sample outside of its shard");
  if (entry.label >= index.classes.size()) cursor.refuse("gives a sample a label that no class has");
  if (index.kind == PackedIndex::Kind::pixels && entry.length != index.shape.size())
    cursor.refuse("holds a sample of another size than the set's");
}

void append(std::vector<std::uint8_t>& out, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

}  // namespace

std::string shard_name(std::size_t shard) { return fmt::format("{:05}.shard", shard); }

std::uint64_t packed_checksum(std::span<const std::uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

PackedIndex parse_packed_index(std::span<const std::uint8_t> bytes, const std::string& name) {
  Cursor cursor(bytes, name);
  if (bytes.size() < sizeof(IndexHeader) + sizeof(std::uint64_t)) cursor.refuse("is truncated");
  const auto header = cursor.value<IndexHeader>();
  if (header.magic != kIndexMagic) cursor.refuse("is not the index of a packed set");
  if (header.version != kVersion)
    cursor.refuse(fmt::format("is of version {}, and this Veche reads version {}: pack the set again",
                              header.version, kVersion));
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + bytes.size() - sizeof(checksum), sizeof(checksum));
  if (packed_checksum(bytes.first(bytes.size() - sizeof(checksum))) != checksum)
    cursor.refuse("has a bad checksum: it is damaged or truncated");

  if (header.kind > 1 || header.channels == 0 || header.channels > kMostChannels ||
      header.height > kMostSide || header.width > kMostSide ||
      (header.kind == 1 && (header.height == 0 || header.width == 0)))
    cursor.refuse("describes images that cannot be");
  PackedIndex index;
  index.kind = static_cast<PackedIndex::Kind>(header.kind);
  index.shape = {static_cast<int>(header.channels), static_cast<int>(header.height),
                 static_cast<int>(header.width)};
  for (auto* values : {&index.normalization.mean, &index.normalization.deviation}) {
    const auto numbers = cursor.array<double>(header.channels);
    values->assign(numbers.begin(), numbers.end());
  }
  for (const double deviation : index.normalization.deviation)
    if (!(deviation > 0) || !std::isfinite(deviation)) cursor.refuse("holds a deviation that is not above 0");
  for (const double mean : index.normalization.mean)
    if (!std::isfinite(mean)) cursor.refuse("holds a mean that is not a number");
  const auto sizes = cursor.array<std::uint64_t>(header.shards);
  index.shard_sizes.assign(sizes.begin(), sizes.end());
  index.train = cursor.array<PackedEntry>(header.train);
  index.test = cursor.array<PackedEntry>(header.test);
  for (std::uint32_t i = 0; i < header.classes; ++i) index.classes.push_back(cursor.text());
  (void)cursor.value<std::uint64_t>();  // the checksum
  if (!cursor.at_end()) cursor.refuse("goes on after its end");
  if (index.train.empty() || index.classes.size() < 2) cursor.refuse("holds no set to train on");
  for (const auto& part : {index.train, index.test})
    for (const PackedEntry& entry : part) check_entry(entry, index, cursor);
  return index;
}

std::vector<std::uint8_t> write_packed_index(const PackedIndex& index) {
  const IndexHeader header{.magic = kIndexMagic,
                           .kind = static_cast<std::uint32_t>(index.kind),
                           .channels = static_cast<std::uint32_t>(index.shape.channels),
                           .height = static_cast<std::uint32_t>(index.shape.height),
                           .width = static_cast<std::uint32_t>(index.shape.width),
                           .classes = static_cast<std::uint32_t>(index.classes.size()),
                           .shards = static_cast<std::uint32_t>(index.shard_sizes.size()),
                           .train = index.train.size(),
                           .test = index.test.size()};
  std::vector<std::uint8_t> out;
  append(out, &header, sizeof(header));
  const auto append_all = [&](const auto& items) {
    append(out, items.data(), items.size() * sizeof(items[0]));
  };
  append_all(index.normalization.mean);
  append_all(index.normalization.deviation);
  append_all(index.shard_sizes);
  append_all(index.train);
  append_all(index.test);
  for (const std::string& name : index.classes) {
    const auto length = static_cast<std::uint32_t>(name.size());
    append(out, &length, sizeof(length));
    append_all(name);
  }
  const std::uint64_t checksum = packed_checksum(out);
  append(out, &checksum, sizeof(checksum));
  return out;
}

}  // namespace veche
