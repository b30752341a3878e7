#include "veche/runtime/checkpoint/checkpoint_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "veche/base/files/files.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointMagic = "vecheck";                  // and a digit
constexpr std::size_t kCommon = offsetof(CheckpointHeader, trains);       // common to all versions
constexpr std::size_t kHeader2 = offsetof(CheckpointHeader, checkpoint);  // the header of version 2
constexpr std::size_t kChecksum = sizeof(std::uint32_t);
constexpr char kVersion = CheckpointHeader{}.magic.back();

std::uint32_t checksum(std::uint32_t sum, std::span<const std::byte> bytes) {
  if (bytes.empty()) return sum;  // zlib resets the sum for a null pointer
  return static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

bool begins_as_ours(std::span<const std::byte> bytes) {
  return std::ranges::equal(std::as_bytes(std::span(kCheckpointMagic)), bytes.first(kCheckpointMagic.size()));
}

[[noreturn]] void refuse_later(const fs::path& file) {
  throw RequestError(file.string() + " was written by a later version of Veche: use that version");
}

// The parts of the header that files of a version contain, in order.
std::vector<std::span<std::byte>> header_parts(char version, std::span<std::byte> header) {
  if (version == '1')
    return {header.first(kCommon),
            header.subspan(offsetof(CheckpointHeader, vectors), sizeof(std::uint64_t))};
  return {version == '2' ? header.first(kHeader2) : header};
}

template <class T>
std::span<std::byte> bytes_of(T& item) {
  return std::as_writable_bytes(std::span(&item, 1));
}

}  // namespace

void write_checkpoint(const fs::path& file, const CheckpointPiece& piece, const NodeState& state) {
  CheckpointHeader header;
  header.node = static_cast<std::uint32_t>(piece.node.value);
  header.nodes = static_cast<std::uint32_t>(piece.nodes);
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
  header.checkpoint = piece.checkpoint;
  header.run = piece.run;
  std::vector<std::uint64_t> words;
  for (const std::uint64_t* counter : state.counters) words.push_back(*counter);
  if (const ErrorSums errors = error_sums(state); errors != ErrorSums{})
    words.insert(words.end(), errors.begin(), errors.end());
  header.counters = words.size();
  for (const std::uint64_t* number : state.numbers) words.push_back(*number);
  for (const auto& vector : state.vectors) words.push_back(vector.size());

  std::vector<std::span<const std::byte>> parts{bytes_of(header), std::as_bytes(std::span(words))};
  for (const auto& vector : state.vectors) parts.push_back(std::as_bytes(vector));
  std::uint32_t sum = 0;
  for (const auto& part : parts) sum = checksum(sum, part);
  parts.push_back(bytes_of(sum));
  write_file_in_unfinished(file, parts);
}

namespace {

// For a file with a correct checksum. Versions before 3 contain neither the checkpoint nor the run.
std::string difference(const CheckpointHeader& header, CheckpointPiece& expected) {
  const auto node = static_cast<int>(header.node), nodes = static_cast<int>(header.nodes);
  if (node != expected.node.value) return fmt::format("it is that of node {}", node);
  if (expected.nodes != 0 && nodes != expected.nodes)
    return fmt::format("it was saved by {} nodes, the others by {}", nodes, expected.nodes);
  if (header.magic.back() >= '3' && header.checkpoint != expected.checkpoint)
    return fmt::format("it is of step {}", header.checkpoint);
  if (header.run != 0 && expected.run != 0 && header.run != expected.run)
    return fmt::format("it is of the run {:016x}, this is {:016x}", header.run, expected.run);
  expected.nodes = nodes;
  if (expected.run == 0) expected.run = header.run;
  return "";
}

}  // namespace

std::string damage_of(const fs::path& file, CheckpointPiece& expected) {
  std::error_code unknown;
  if (fs::status(file, unknown).type() == fs::file_type::not_found) return "it is missing";
  CheckpointHeader header;
  try {
    const InputFile in(file, "it");
    if (in.size() < kCommon + kChecksum) return "it is cut short";
    const std::uintmax_t end = in.size() - kChecksum;
    std::uint32_t sum = 0;
    std::vector<std::byte> chunk(std::min<std::uintmax_t>(end, 1 << 20));
    for (std::uintmax_t at = 0; at < end;) {
      const auto part = std::span(chunk).first(std::min<std::uintmax_t>(end - at, chunk.size()));
      if (in.read(at, part) < part.size()) return "it is cut short";
      if (at == 0) {
        if (!begins_as_ours(part)) return "it is no checkpoint";
        std::ranges::copy(part.first(std::min(part.size(), sizeof header)), bytes_of(header).begin());
      }
      sum = checksum(sum, part);
      at += part.size();
    }
    std::uint32_t stored = 0;
    if (in.read(end, bytes_of(stored)) < kChecksum || stored != sum)
      return "its checksum is wrong, it was cut short or changed";
  } catch (const RequestError& error) {
    return error.what();
  }
  if (header.magic.back() > kVersion) refuse_later(file);
  if (header.magic.back() < '3') header.run = 0;
  return difference(header, expected);
}

CheckpointReader::CheckpointReader(fs::path file) : path_(std::move(file)), in_(path_) {
  const auto check = [&](bool fine) {
    if (!fine) throw RunError(path_.string() + " is damaged");
  };
  read(bytes_of(header_).first(kCommon));
  check(begins_as_ours(bytes_of(header_)));
  const char version = header_.magic.back();
  if (version < '1' || version > kVersion) refuse_later(path_);
  at_ = 0;
  for (const std::span<std::byte> part : header_parts(version, bytes_of(header_))) read(part);
  const std::uintmax_t words = in_.size() / sizeof(std::uint64_t);
  for (const auto& [count, into] :
       {std::pair(header_.counters, &counters_), {header_.numbers, &numbers_}, {header_.vectors, &sizes_}}) {
    check(count <= words);
    into->resize(count);
    read(std::as_writable_bytes(std::span(*into)));
  }
  for (std::uintmax_t left = in_.size() / sizeof(float); const std::uint64_t size : sizes_) {
    check(size <= left);
    left -= size;
  }
}

void CheckpointReader::read(std::span<std::byte> into) {
  if (in_.read(at_, into) < into.size()) throw RunError(path_.string() + " cannot be read to its end");
  at_ += into.size();
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
