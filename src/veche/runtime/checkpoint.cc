#include "veche/runtime/checkpoint.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>

#include "veche/base/errors.h"
#include "veche/base/files.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'v', 'e', 'c', 'h', 'e', 'c', 'k', '1'};
constexpr std::size_t kKept = 2;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint64_t step = 0;
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  double evaluated_loss_sum = 0;
  std::int64_t evaluated_correct = 0;
  std::int64_t evaluated_count = 0;
  std::uint64_t vectors = 0;
};

std::uint32_t checksum(std::uint32_t sum, std::span<const std::byte> bytes) {
  if (bytes.empty()) return sum;  // zlib takes a null pointer for the wish to begin anew
  return static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// One pass over a file that only tells whether it is whole.
bool is_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return false;
  auto left = static_cast<std::size_t>(in.tellg());
  if (left < sizeof(Header) + sizeof(std::uint32_t)) return false;
  in.seekg(0);
  left -= sizeof(std::uint32_t);
  std::uint32_t sum = 0;
  std::vector<std::byte> chunk(std::min<std::size_t>(left, 1 << 20));
  bool first = true;
  while (left > 0) {
    const std::span<std::byte> part(chunk.data(), std::min(left, chunk.size()));
    if (!in.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size())))
      return false;
    if (first && std::memcmp(part.data(), kMagic.data(), kMagic.size()) != 0) return false;
    first = false;
    sum = checksum(sum, part);
    left -= part.size();
  }
  std::uint32_t stored = 0;
  return in.read(reinterpret_cast<char*>(&stored), sizeof stored) && stored == sum;
}

constexpr std::string_view kFinished = "step-";
constexpr std::string_view kUnfinished = "unfinished-";

std::optional<std::uint64_t> step_of(const fs::path& folder, std::string_view prefix) {
  const std::string name = folder.filename().string();
  std::uint64_t step = 0;
  if (!name.starts_with(prefix)) return {};
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return step;
}

// Steps of the checkpoints of this kind, newest first.
std::vector<std::uint64_t> steps_of(const fs::path& folder, std::string_view prefix) {
  std::vector<std::uint64_t> steps;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (const auto step = step_of(entry.path(), prefix)) steps.push_back(*step);
  std::ranges::sort(steps, std::greater{});
  return steps;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, int nodes) : folder_(std::move(folder)), nodes_(nodes) {}

CheckpointStore CheckpointStore::of_run(const fs::path& folder) {
  int nodes = 0;
  for (const std::uint64_t step : steps_of(folder, kFinished)) {
    const CheckpointStore any(folder, 0);
    int found = 0;
    while (fs::exists(any.file(any.step_folder(step), NodeId{found}))) ++found;
    nodes = std::max(nodes, found);  // files of one of them may be gone
  }
  return {folder, nodes};
}

fs::path CheckpointStore::step_folder(std::uint64_t step) const {
  return folder_ / fmt::format("{}{}", kFinished, step);
}
fs::path CheckpointStore::unfinished(std::uint64_t step) const {
  return folder_ / fmt::format("{}{}", kUnfinished, step);
}
fs::path CheckpointStore::file(const fs::path& step_folder, NodeId node) const {
  return step_folder / fmt::format("node-{}", node.value);
}

void CheckpointStore::write(std::uint64_t step, NodeId node, const NodeState& state) {
  fs::create_directories(unfinished(step));
  Header header;
  header.node = static_cast<std::uint32_t>(node.value);
  header.nodes = static_cast<std::uint32_t>(nodes_);
  header.step = state.step;
  header.loss_sum = state.train.loss_sum;
  header.correct = state.train.correct;
  header.count = state.train.count;
  header.bytes = state.sent.bytes;
  header.messages = state.sent.messages;
  header.evaluated_loss_sum = state.evaluated.loss_sum;
  header.evaluated_correct = state.evaluated.correct;
  header.evaluated_count = state.evaluated.count;
  header.vectors = state.vectors.size();
  std::vector<std::uint64_t> sizes;
  for (const auto& vector : state.vectors) sizes.push_back(vector.size());

  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(&header, 1)),
                                                std::as_bytes(std::span(sizes))};
  for (const auto& vector : state.vectors) parts.push_back(std::as_bytes(vector));
  std::uint32_t sum = 0;
  for (const auto& part : parts) sum = checksum(sum, part);
  parts.push_back(std::as_bytes(std::span(&sum, 1)));
  write_file(file(unfinished(step), node), parts);
}

void CheckpointStore::commit(std::uint64_t step) {
  for (int node = 0; node < nodes_; ++node)
    if (!fs::exists(file(unfinished(step), NodeId{node})))
      throw RunError(
          fmt::format("node {} saved itself elsewhere than in {}: run.out must lie on a file system that "
                      "all hosts share",
                      node, unfinished(step).string()));
  fs::remove_all(step_folder(step));  // a damaged one of the same step that a resumed run has passed over
  rename_durably(unfinished(step), step_folder(step));
  std::size_t kept = 0;
  for (const std::uint64_t found :
       steps_of(folder_, kFinished))  // later ones were damaged, or this run would have gone on from them
    if (found > step || ++kept > kKept) fs::remove_all(step_folder(found));
  for (const std::uint64_t left :
       steps_of(folder_, kUnfinished))  // by a kill; the others may be at the next step's
    if (left < step) fs::remove_all(unfinished(left));
}

void CheckpointStore::remove_unfinished() const {
  for (const std::uint64_t left : steps_of(folder_, kUnfinished)) fs::remove_all(unfinished(left));
}

std::optional<std::uint64_t> CheckpointStore::newest(
    const std::function<void(const std::string&)>& warn) const {
  for (const std::uint64_t step : steps_of(folder_, kFinished)) {
    int whole = 0;
    int nodes = 1;  // until its first file has told
    while (whole < nodes && is_whole(file(step_folder(step), NodeId{whole}))) {
      if (whole == 0) nodes = nodes_at(step);
      ++whole;
    }
    if (whole == nodes) return step;
    warn(fmt::format("the checkpoint {} is damaged and passed over",
                     file(step_folder(step), NodeId{whole}).string()));
  }
  return {};
}

struct CheckpointStore::Opened {
  explicit Opened(fs::path file) : path(std::move(file)), in(path, std::ios::binary) {
    take(std::as_writable_bytes(std::span(&header, 1)));
    if (header.vectors > fs::file_size(path) / sizeof(std::uint64_t))
      throw RunError(path.string() + " is damaged");
    sizes.resize(header.vectors);
    take(std::as_writable_bytes(std::span(sizes)));
  }
  void take(std::span<std::byte> into) {
    if (!in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size())))
      throw RunError(path.string() + " cannot be read to its end");
  }
  // Its first vectors are as long as these.
  void check_begins_with(const std::vector<std::span<float>>& vectors, bool fits = true) const {
    fits = fits && sizes.size() >= vectors.size();
    for (std::size_t i = 0; fits && i < vectors.size(); ++i) fits = sizes[i] == vectors[i].size();
    if (!fits)
      throw RequestError(path.string() +
                         " is of another model, optimiser or number of nodes than config.toml");
  }

  const fs::path path;
  std::ifstream in;
  Header header;
  std::vector<std::uint64_t> sizes;  // of the vectors, which follow
};

void CheckpointStore::read(std::uint64_t step, NodeId node, NodeState& state) const {
  Opened opened(file(step_folder(step), node));
  const Header& header = opened.header;
  opened.check_begins_with(state.vectors, header.nodes == static_cast<std::uint32_t>(nodes_) &&
                                              opened.sizes.size() == state.vectors.size());
  state.step = header.step;
  state.train = {header.loss_sum, header.correct, header.count};
  state.sent = {header.bytes, header.messages};
  state.evaluated = {header.evaluated_loss_sum, header.evaluated_correct, header.evaluated_count};
  for (const auto& vector : state.vectors) opened.take(std::as_writable_bytes(vector));
}

SavedModel CheckpointStore::read_model(std::uint64_t step, NodeId node) const {
  Opened opened(file(step_folder(step), node));
  if (opened.sizes.size() < 2) throw RunError(opened.path.string() + " holds no model");
  SavedModel model{std::vector<float>(opened.sizes[0]), std::vector<float>(opened.sizes[1])};
  opened.take(std::as_writable_bytes(std::span(model.parameters)));
  opened.take(std::as_writable_bytes(std::span(model.buffers)));
  return model;
}

int CheckpointStore::nodes_at(std::uint64_t step) const {
  return static_cast<int>(Opened(file(step_folder(step), NodeId{0})).header.nodes);
}

void CheckpointStore::read_average(std::uint64_t step, NodeState& state) const {
  const int nodes = nodes_at(step);
  for (const auto& vector : state.vectors) std::ranges::fill(vector, 0.0F);
  std::vector<float> one;
  for (int node = 0; node < nodes; ++node) {
    Opened saved(file(step_folder(step), NodeId{node}));
    saved.check_begins_with(state.vectors);
    state.step = saved.header.step;
    for (const auto& vector : state.vectors) {
      one.resize(vector.size());
      saved.take(std::as_writable_bytes(std::span(one)));
      for (std::size_t i = 0; i < one.size(); ++i) vector[i] += one[i] / static_cast<float>(nodes);
    }
  }
}

}  // namespace veche
