#include "veche/data/formats/pack/pack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/data_sets.h"
#include "tests/support/temporary_folder.h"
#include "veche/data/formats/image/image.h"
#include "veche/data/formats/pack/index.h"
#include "veche/data/formats/pack/packed_set.h"
#include "veche/data/sets/pixel_set.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using veche::testing::at;
using veche::testing::pixels;
using veche::testing::TemporaryFolder;

std::vector<std::uint8_t> picture(int shade, int size = 8) {
  Image image{.width = size, .height = size, .channels = 3, .pixels = {}};
  for (int i = 0; i < size * size * 3; ++i) image.pixels.push_back(static_cast<std::uint8_t>(shade + i % 16));
  return shade % 2 == 0 ? encode_jpeg(image, 95) : encode_png(image);
}

// Two classes of five training and two test images, each with its own shade.
void write_set(const TemporaryFolder& folder) {
  int shade = 10;
  for (const char* part : {"train", "test"})
    for (const char* name : {"cat", "dog"})
      for (int i = 0; i < (std::strcmp(part, "train") == 0 ? 5 : 2); ++i)
        folder.write(std::string("set/") + part + "/" + name + "/" + std::to_string(i) + ".jpg",
                     picture(shade += 7));
}

void expect_equal(const DataSource& a, const DataSource& b) {
  EXPECT_EQ(a.class_names, b.class_names);
  for (const auto& [one, other] : {std::pair(a.train, b.train), std::pair(a.test, b.test)}) {
    ASSERT_EQ(one->size(), other->size());
    ASSERT_EQ(one->shape(), other->shape());
    for (std::size_t i = 0; i < one->size(); ++i) {
      EXPECT_EQ(one->label(i), other->label(i));
      EXPECT_EQ(pixels(*one, i), pixels(*other, i));
    }
  }
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Pack, KeepsFilesAndPixelsAsTheyWere) {
  const TemporaryFolder folder;
  write_set(folder);
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  const PackResult kept = pack(source, folder.path() / "kept", {.threads = 2});
  const PackResult decoded = pack(source, folder.path() / "decoded", {.decode = true, .threads = 2});
  EXPECT_EQ(kept.train, 10u);
  EXPECT_EQ(kept.test, 4u);
  EXPECT_GE(decoded.bytes, 14u * 8 * 8 * 3);
  expect_equal(source, open_data(at(folder.path() / "kept"), 1));
  expect_equal(source, open_data(at(folder.path() / "decoded"), 1));
  EXPECT_EQ(open_data(at(folder.path() / "kept"), 1).kind, "packed image files");
  EXPECT_EQ(open_data(at(folder.path() / "decoded"), 1).kind, "packed pixels");
}

TEST(Packed, PixelsAreReadWhereTheyLie) {
  const TemporaryFolder folder;
  write_set(folder);
  pack(open_data(at(folder.path() / "set"), 1), folder.path() / "out", {.decode = true});
  const DataSource source = open_data(at(folder.path() / "out"), 1);
  const auto& set = dynamic_cast<const PixelSet&>(*source.train);
  std::vector<std::uint8_t> room(set.shape().size(), 77);
  const std::uint8_t* const first = set.pixels(0, room).data();
  // Every reader sees the mapped file: the samples lie one after the other, with names between
  // them.
  std::vector<std::uint8_t> other(set.shape().size());
  EXPECT_EQ(set.pixels(0, other).data(), first);
  EXPECT_LT(set.pixels(1, other).data() - first, static_cast<std::ptrdiff_t>(2 * room.size()));
  EXPECT_EQ(room, std::vector<std::uint8_t>(room.size(), 77));
}

TEST(Pack, BytesDoNotDependOnThreadsAndShardsAreCut) {
  const TemporaryFolder folder;
  write_set(folder);
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  const PackOptions one{.threads = 1, .shard_bytes = 1000};
  PackOptions many = one;
  many.threads = 4;
  pack(source, folder.path() / "one", one);
  pack(source, folder.path() / "many", many);
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path() / "one")) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(folder.read("one/" + name), folder.read("many/" + name)) << name;
    ++files;
  }
  EXPECT_GT(files, 3u);
  expect_equal(source, open_data(at(folder.path() / "one"), 1));
}

TEST(Pack, StoppedItLeavesNothing) {
  const TemporaryFolder folder;
  write_set(folder);
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  PackOptions options;
  options.progress = [](std::size_t done, std::size_t) {
    if (done == 5) throw RunError("stop");
  };
  EXPECT_EQ(refusal([&] { pack(source, folder.path() / "out", options); }), "stop");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename(), "set");
  EXPECT_NE(refusal([&] { pack(source, folder.path() / "set", {}); }).find("exists"), std::string::npos);
  EXPECT_NE(refusal([&] { pack(source, folder.path() / "no/out", {}); }).find("there is no folder"),
            std::string::npos);
}

TEST(Pack, ResizesAndTakesUnequalImages) {
  const TemporaryFolder folder;
  write_set(folder);
  folder.write("set/train/cat/9.jpg", picture(20, 31));
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "set"), 1); }).find("set data.size"),
            std::string::npos);
  const DataSource source = open_data(at(folder.path() / "set"), 1, {.size_if_unequal = 8});
  pack(source, folder.path() / "as-they-are", {});
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "as-they-are"), 1); }).find("set data.size"),
            std::string::npos);
  pack(source, folder.path() / "small", {.resize = 6});
  EXPECT_EQ(open_data(at(folder.path() / "small"), 1).train->shape(), (Shape{3, 6, 6}));
  DataSettings sized = at(folder.path() / "as-they-are");
  sized.size = 5;
  EXPECT_EQ(open_data(sized, 1).train->shape(), (Shape{3, 5, 5}));
}

TEST(Pack, DamagedImagesAreRefusedOrLeftOut) {
  const TemporaryFolder folder;
  write_set(folder);
  auto cut = folder.read("set/train/dog/3.jpg");
  cut.resize(cut.size() / 2);
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  folder.write("set/train/dog/3.jpg", cut);
  fs::remove(folder.path() / "set/train/dog/4.jpg");
  EXPECT_NE(refusal([&] { pack(source, folder.path() / "out", {}); }).find("train/dog/3.jpg' is a damaged"),
            std::string::npos);
  const PackResult result = pack(source, folder.path() / "out", {.bad = OnDamage::skip});
  EXPECT_EQ(result.damaged, 2u);
  EXPECT_EQ(result.train, 8u);
  ASSERT_EQ(result.damage.size(), 2u);
  EXPECT_NE(result.damage[1].find("has vanished"), std::string::npos);
}

TEST(Packed, ABadByteInAShardIsFoundAndReplacedByTheNextOfItsClass) {
  const TemporaryFolder folder;
  write_set(folder);
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  for (const bool decode : {false, true}) {
    const std::string out = decode ? "decoded" : "kept";
    pack(source, folder.path() / out, {.decode = decode});
    const MappedFile index_file(folder.path() / out / kPackedIndexName);
    const PackedIndex index = parse_packed_index(index_file.octets(), "index");
    const PackedEntry bad = index.train[4];  // the last cat: the next cat is the first
    auto shard = folder.read(out + "/00000.shard");
    shard[bad.offset + bad.name_length + bad.length / 2] ^= 1;
    folder.write(out + "/00000.shard", shard);

    const DataSource strict = open_data(at(folder.path() / out), 1);
    const std::string why = refusal([&] { pixels(*strict.train, 4); });
    EXPECT_NE(why.find("cat/4.jpg' has a bad checksum"), std::string::npos) << why;

    const DataSource lenient = open_data(at(folder.path() / out, OnDamage::skip), 1);
    EXPECT_EQ(pixels(*lenient.train, 4), pixels(*source.train, 0));
    EXPECT_EQ(pixels(*lenient.train, 4), pixels(*source.train, 0));
    EXPECT_EQ(pixels(*lenient.train, 5), pixels(*source.train, 5));
    EXPECT_EQ(lenient.damage.front()->count(), 1u);  // counted once, however often it is read
  }
}

TEST(Packed, AMissingOrShortShardIsNamed) {
  const TemporaryFolder folder;
  write_set(folder);
  pack(open_data(at(folder.path() / "set"), 1), folder.path() / "out", {.shard_bytes = 1500});
  const fs::path shard = folder.path() / "out" / shard_name(1);
  ASSERT_TRUE(fs::exists(shard));
  fs::resize_file(shard, fs::file_size(shard) - 1);
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "out"), 1); }).find("00001.shard' with"),
            std::string::npos);
  fs::remove(shard);
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "out"), 1); }).find("is missing"), std::string::npos);
  const DataSource lenient = open_data(at(folder.path() / "out", OnDamage::skip), 1);
  for (std::size_t i = 0; i < lenient.train->size(); ++i) EXPECT_FALSE(pixels(*lenient.train, i).empty());
  EXPECT_GT(lenient.damage.front()->count(), 0u);
}

TEST(Packed, AShardThatIsCutOffWhileOpenEndsNothing) {
  const TemporaryFolder folder;
  write_set(folder);
  pack(open_data(at(folder.path() / "set"), 1), folder.path() / "out", {});
  const DataSource open = open_data(at(folder.path() / "out"), 1);
  fs::resize_file(folder.path() / "out" / shard_name(0), 10);
  EXPECT_NE(refusal([&] { pixels(*open.train, 9); }).find("cut off"), std::string::npos);
}

TEST(PackedIndex, EveryTruncationAndEveryFlippedBitIsRefused) {
  const TemporaryFolder folder;
  write_set(folder);
  pack(open_data(at(folder.path() / "set"), 1), folder.path() / "out", {});
  const auto good = folder.read("out/index.veche");
  ASSERT_EQ(parse_packed_index(good, "index").train.size(), 10u);
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::vector<std::uint8_t> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(parse_packed_index(cut, "index"), RequestError) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= 0x10;
    EXPECT_THROW(parse_packed_index(bad, "index"), RequestError) << at;
  }
  auto longer = good;
  longer.push_back(0);
  EXPECT_THROW(parse_packed_index(longer, "index"), RequestError);
}

}  // namespace
}  // namespace veche
