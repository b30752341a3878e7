#include "veche/runtime/checkpoint_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "veche/base/files.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointMagic = "vecheck";             // and a digit
constexpr std::size_t kCommon = offsetof(CheckpointHeader, trains);  // what all versions begin with
constexpr std::size_t kChecksum = sizeof(std::uint32_t);

std::uint32_t checksum(std::uint32_t sum, std::span<const std::byte> bytes) {
  if (bytes.empty()) return sum;  // zlib takes a null pointer for the wish to begin anew
  return static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

bool begins_as_ours(std::span<const std::byte> bytes) {
  return std::ranges::equal(std::as_bytes(std::span(kCheckpointMagic)), bytes.first(kCheckpointMagic.size()));
}

template <class T>
std::span<std::byte> bytes_of(T& item) {
  return std::as_writable_bytes(std::span(&item, 1));
}

}  // namespace

void write_checkpoint(const fs::path& file, NodeId node, int nodes, const NodeState& state) {
  CheckpointHeader header;
  header.node = static_cast<std::uint32_t>(node.value);
  header.nodes = static_cast<std::uint32_t>(nodes);
  header.step = state.step;
  header.loss_sum = state.train.loss_sum;
  header.correct = state.train.correct;
  header.count = state.train.count;
  header.bytes = state.sent.bytes;
  header.messages = state.sent.messages;
  header.evaluated_loss_sum = state.evaluated.loss_sum;
  header.evaluated_correct = state.evaluated.correct;
  header.evaluated_count = state.evaluated.count;
  header.trains = state.trains ? 1 : 0;
  header.numbers = state.numbers.size();
  header.vectors = state.vectors.size();
  std::vector<std::uint64_t> words;
  for (const std::uint64_t* number : state.numbers) words.push_back(*number);
  for (const auto& vector : state.vectors) words.push_back(vector.size());

  std::vector<std::span<const std::byte>> parts{bytes_of(header), std::as_bytes(std::span(words))};
  for (const auto& vector : state.vectors) parts.push_back(std::as_bytes(vector));
  std::uint32_t sum = 0;
  for (const auto& part : parts) sum = checksum(sum, part);
  parts.push_back(bytes_of(sum));
  write_file_in_unfinished(file, parts);
}

bool is_whole_checkpoint(const fs::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return false;
  auto left = static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg()));
  if (left < kCommon + kChecksum) return false;
  in.seekg(0);
  left -= kChecksum;
  std::uint32_t sum = 0;
  std::vector<std::byte> chunk(std::min<std::size_t>(left, 1 << 20));
  bool first = true;
  while (left > 0) {
    const std::span<std::byte> part(chunk.data(), std::min(left, chunk.size()));
    if (!in.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size())))
      return false;
    if (first && !begins_as_ours(part)) return false;
    first = false;
    sum = checksum(sum, part);
    left -= part.size();
  }
  std::uint32_t stored = 0;
  return in.read(reinterpret_cast<char*>(&stored), sizeof stored) && stored == sum;
}

CheckpointReader::CheckpointReader(fs::path file) : path_(std::move(file)), in_(path_, std::ios::binary) {
  std::error_code error;
  const std::uintmax_t length = fs::file_size(path_, error);
  const auto check = [&](bool fine) {
    if (!fine || error) throw RunError(path_.string() + " is damaged");
  };
  read(bytes_of(header_).first(kCommon));
  check(begins_as_ours(bytes_of(header_)));
  const char version = header_.magic.back();
  if (version != '1' && version != '2')
    throw RequestError(path_.string() + " is of a later version of Veche: go on with that");
  const std::size_t left_out = version == '1' ? offsetof(CheckpointHeader, vectors) : kCommon;
  read(bytes_of(header_).subspan(left_out));
  const std::uintmax_t words = length / sizeof(std::uint64_t);
  check(header_.numbers <= words && header_.vectors <= words);
  numbers_.resize(header_.numbers);
  read(std::as_writable_bytes(std::span(numbers_)));
  sizes_.resize(header_.vectors);
  read(std::as_writable_bytes(std::span(sizes_)));
  for (std::uintmax_t left = length / sizeof(float); const std::uint64_t size : sizes_) {
    check(size <= left);
    left -= size;
  }
}

void CheckpointReader::read(std::span<std::byte> into) {
  if (!in_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size())))
    throw RunError(path_.string() + " cannot be read to its end");
}

void CheckpointReader::check_begins_with(const std::vector<std::span<float>>& vectors) const {
  bool fits = sizes_.size() >= vectors.size();
  for (std::size_t i = 0; fits && i < vectors.size(); ++i) fits = sizes_[i] == vectors[i].size();
  if (!fits) does_not_fit();
}

void CheckpointReader::does_not_fit() const {
  throw RequestError(path_.string() + " is of another model, optimiser or number of nodes than config.toml");
}

}  // namespace veche
