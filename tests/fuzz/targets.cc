#include "tests/fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "veche/comm/grid/membership/messages.h"
#include "veche/compress/codec.h"
#include "veche/compress/majority.h"
#include "veche/compress/power_gossip.h"
#include "veche/data/formats/archive/archive.h"
#include "veche/data/formats/cifar.h"
#include "veche/data/formats/idx.h"
#include "veche/data/formats/image/image.h"
#include "veche/data/formats/listing.h"
#include "veche/data/formats/npy.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/table/table.h"
#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"
#include "veche/model/safetensors.h"

namespace veche::fuzz {
namespace {

// A broken promise of a parser is a finding too.
void require(bool kept) {
  if (!kept) std::abort();
}

// A file in memory, for parsers that need a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0 &&
            write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// In its own memory, aligned like a file, so that reading past the end is detected.
template <class Parse>
void attempt(std::span<const std::uint8_t> bytes, const Parse& parse) {
  const std::vector<std::uint8_t> own(bytes.begin(), bytes.end());
  try {
    parse(std::span<const std::uint8_t>(own));
  } catch (const Error&) {
  }
}

}  // namespace

void cifar(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    for (const std::size_t label_bytes : {1, 2}) {
      Samples samples{.shape = {3, 32, 32}, .classes = 10, .planes = true};
      append_cifar(own, label_bytes, "fuzz", {.on = OnDamage::skip}, samples);
      std::vector<std::uint8_t> room(3072);
      for (std::size_t i = 0; i < samples.labels.size(); ++i) samples.pixels(i, room);
    }
  });
}

namespace {

// A vector between guard values. A decoder writes into the vector or nothing.
class Guarded {
 public:
  explicit Guarded(std::size_t length) : length_(length), room_(length + 2 * kGuard, kUntouched) {}

  template <class Decode>
  void expect(const Decode& decode) {
    try {
      decode(std::span(room_).subspan(kGuard, length_));
    } catch (const Error&) {
      require(std::ranges::all_of(room_, [](float x) { return x == kUntouched; }));
      throw;
    }
    for (std::size_t i = 0; i < kGuard; ++i)
      require(room_[i] == kUntouched && room_[room_.size() - 1 - i] == kUntouched);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr float kUntouched = 12.5F;
  const std::size_t length_;
  std::vector<float> room_;
};

}  // namespace

void code(std::span<const std::uint8_t> bytes) {
  // The first byte chooses a codec and its wrappers; the rest is a code.
  constexpr const char* kWords[] = {"none",      "fp16",        "bf16",     "int8",
                                    "qsgd:1",    "qsgd:5",      "sign",     "threshold:1",
                                    "topk:0.01", "randomk:0.1", "dgc:0.05", "powersgd:2"};
  constexpr std::size_t kLength = 600;
  attempt(bytes, [&](std::span<const std::uint8_t> own) {
    if (own.empty()) return;
    StreamShape shape{.length = kLength};
    shape.tensors = {{.name = "matrix", .shape = {20, 25}, .strides = {}, .offset = 0},
                     {.name = "vector", .shape = {70}, .strides = {}, .offset = 500}};
    shape.small = (own[0] & 0x20) != 0 ? 80 : 0;
    const std::size_t which = own[0] % 16U;
    const std::vector<std::uint8_t> aligned(own.begin() + 1, own.end());  // as messages are
    const auto message = std::as_bytes(std::span(aligned));
    Guarded vector(kLength);
    CodecSpec spec = parse_codec("fuzz", which < std::size(kWords) ? kWords[which] : "sign");
    spec.zstd = (own[0] & 0x10) != 0;
    if (which < std::size(kWords)) {
      const auto codec = make_codec(spec, shape);
      vector.expect([&](std::span<float> into) { codec->add_decoded(message, 1, into); });
    } else if (which % 2 == 0) {
      MajorityVote vote(spec, shape);
      vote.add(message);
      vector.expect([&](std::span<float> into) { vote.finish(into); });
    } else {
      MessagePool pool;
      PowerGossip edge(2, shape, true);
      edge.encode(std::vector<float>(kLength, 1.0F), which / 2 % 2, pool);
      vector.expect([&](std::span<float> into) { edge.move(message, 0.5F, into); });
    }
  });
}

void gml(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    for (StoredGraph& graph : read_gml(std::string(own.begin(), own.end()))) {
      tidy(graph);
      require(graph.labels.empty() || graph.labels.size() == static_cast<std::size_t>(graph.nodes));
      for (const std::string& label : graph.labels) require(clean_label(label) == label);
    }
  });
}

void graphml(std::span<const std::uint8_t> bytes) {
  attempt(bytes,
          [](std::span<const std::uint8_t> own) { read_graphml(std::string(own.begin(), own.end())); });
}

void idx(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    // The first byte sets how many of the others are the images; the rest is the labels.
    const std::size_t cut =
        own.empty() ? 0 : std::min<std::size_t>(own[0] * own.size() / 255, own.size() - 1) + 1;
    const MemoryFile images(own.subspan(std::min<std::size_t>(1, own.size()), cut == 0 ? 0 : cut - 1));
    const MemoryFile labels(own.subspan(cut));
    const Samples samples = read_idx(images.path(), labels.path(), 10, {.on = OnDamage::skip});
    std::size_t sum = 0;  // every byte can be looked at
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      for (const std::uint8_t byte : samples.pixels(i, {})) sum += byte;
    require(sum <= 255 * samples.labels.size() * samples.shape.size());
  });
}

void image(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    constexpr std::int64_t kMost = 1 << 22;  // larger ones only take time
    const ImageFacts facts = look_at_image(own);
    if (std::int64_t{facts.width} * facts.height > kMost) return;
    Image decoded;
    decode_image(own, 3, 0, decoded);
    require(decoded.width == facts.width && decoded.height == facts.height);
    require(decoded.pixels.size() ==
            static_cast<std::size_t>(facts.width) * static_cast<std::size_t>(facts.height) * 3);
    decode_image(own, 1, 8, decoded);
    std::vector<std::uint8_t> square(64);
    if (std::max(decoded.width, decoded.height) < 4096) resize_and_crop(decoded, 8, square);
  });
}

// An accepted message is encoded to the same bytes, and a member that receives it continues.
void membership(std::span<const std::uint8_t> bytes) {
  const std::vector<std::uint8_t> own(bytes.begin(), bytes.end());
  if (const auto stored = grid::parse_stored_membership(own)) {
    const auto again = grid::parse_stored_membership(grid::encode(*stored));
    require(again && grid::encode(*again) == grid::encode(*stored));
  }
  const auto message = grid::parse_membership_message(own);
  if (message) {
    const auto again = grid::parse_membership_message(grid::encode(*message));
    require(again && grid::encode(*again) == grid::encode(*message));
  }
  grid::Member self, other;
  self.id.bytes[0] = 1;
  other.id.bytes[0] = 2;
  grid::Membership member(7, self, {}, {}, 1);
  member.found({{0, 0}}, Time(0));
  member.vouch(other.id, {"fuzz", 1}, Time(0));
  member.link_up(other.id, Time(0));
  for (int i = 1; i < 4; ++i) {
    member.received(other.id, own, Time(i));
    member.frozen({{1, 1}}, Time(i));
    member.take();
  }
}

void npy(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    const NpyArray array = parse_npy(own, "fuzz");
    for (std::uint64_t i = 0; i < array.count(); ++i) whole_number(array, i);
  });
}

void packed(std::span<const std::uint8_t> bytes) {
  const auto check = [](std::span<const std::uint8_t> own) {
    const PackedIndex index = parse_packed_index(own, "fuzz");
    for (const auto& part : {index.train, index.test})
      for (const PackedEntry& entry : part) {
        require(entry.label < index.classes.size());
        require(entry.offset + entry.name_length + entry.length <= index.shard_sizes.at(entry.shard));
      }
  };
  attempt(bytes, check);
  if (bytes.size() < sizeof(std::uint64_t)) return;
  // Repairs the checksum, which no mutation keeps right, to reach the code behind it.
  std::vector<std::uint8_t> mended(bytes.begin(), bytes.end());
  const std::size_t body = mended.size() - sizeof(std::uint64_t);
  const std::uint64_t checksum = packed_checksum(std::span(mended).first(body));
  std::memcpy(mended.data() + body, &checksum, sizeof(checksum));
  attempt(mended, check);
}

void safetensors(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    const Safetensors file = parse_safetensors(std::as_bytes(own), "fuzz");
    for (const StoredTensor& tensor : file.tensors) {
      try {
        floats_of(tensor, "fuzz");
      } catch (const RequestError&) {  // of another type
      }
    }
  });
}

// The first line is the expression, the others are the file.
void table(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    const auto end = std::ranges::find(own, static_cast<std::uint8_t>('\n'));
    const MemoryFile file(
        own.subspan(std::min<std::size_t>(own.size(), static_cast<std::size_t>(end - own.begin()) + 1)));
    const Table read(file.path(), {}, nullptr, {}, {.on = OnDamage::skip}, 1);
    require(read.train_rows().size() == read.size() && read.test_rows().empty());
    const TestRows test{.condition = std::string(own.begin(), end)};
    const Table divided(file.path(), {}, nullptr, test, {.on = OnDamage::skip}, 2);
    require(divided.train_rows().size() + divided.test_rows().size() == divided.size());
    require(divided.size() == 0 || divided.line_of(divided.size() - 1) > 1);
  });
}

void tar(std::span<const std::uint8_t> bytes) {
  attempt(bytes, [](std::span<const std::uint8_t> own) {
    const Archive archive = read_archive(own, "fuzz");
    std::size_t total = 0;
    Files files{.place = "fuzz", .paths = {}, .text = [&](std::size_t i) {
                  const auto text = archive.members[i].bytes;
                  return std::string(text.begin(), text.end());
                }};
    for (const Archive::Member& member : archive.members) {
      for (const std::uint8_t byte : member.bytes) total += byte;  // all of it can be read
      files.paths.push_back(member.name);
    }
    const DamagePolicy skip{.on = OnDamage::skip};
    const Listing listing =
        is_webdataset(files) ? list_webdataset(files, skip) : list_by_class(files, {}, skip);
    for (const auto* items : {&listing.train, &listing.test})
      for (const Listing::Item item : *items)
        require(item.file < files.paths.size() && item.label < listing.classes.size());
    require(total < own.size() * (std::size_t{1} << 40));
  });
}

}  // namespace veche::fuzz
