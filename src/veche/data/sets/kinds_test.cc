// The kinds of files that data.path may name, besides IDX (idx_test) and packed sets (pack_test).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/data_sets.h"
#include "tests/support/temporary_folder.h"
#include "veche/data/formats/cifar.h"
#include "veche/data/formats/image/image.h"
#include "veche/data/formats/npy.h"
#include "veche/data/sets/pixel_set.h"
#include "veche/data/sets/source.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;
using veche::testing::at;
using veche::testing::pixels;
using veche::testing::refusal;
using veche::testing::TemporaryFolder;

// Pixel p of channel c is 3p + c + label, modulo 256.
Bytes cifar_record(std::uint8_t label, std::size_t label_bytes) {
  Bytes record(label_bytes, 99);
  record.back() = label;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t p = 0; p < 1024; ++p) record.push_back(static_cast<std::uint8_t>(3 * p + c + label));
  return record;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Cifar, BothFormatsAreReadWithTheirChannelsTogether) {
  const TemporaryFolder folder;
  for (int i = 1; i <= 5; ++i)
    folder.write("ten/cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin",
                 cifar_record(static_cast<std::uint8_t>(i), 1) + cifar_record(0, 1));
  folder.write("ten/cifar-10-batches-bin/test_batch.bin", cifar_record(9, 1));
  const DataSource ten = open_data(at(folder.path() / "ten"), 1);
  EXPECT_EQ(ten.name, "cifar10");
  EXPECT_EQ(ten.augment, "crop:4+flip");
  EXPECT_EQ(ten.train->size(), 10u);
  EXPECT_EQ(ten.train->label(4), 3);
  EXPECT_EQ(ten.test->label(0), 9);
  const Bytes image = pixels(*ten.train, 4);
  for (std::size_t i = 0; i < image.size(); ++i) ASSERT_EQ(image[i], static_cast<std::uint8_t>(i + 3)) << i;

  folder.write("hundred/train.bin", cifar_record(57, 2) + cifar_record(99, 2));
  folder.write("hundred/test.bin", cifar_record(3, 2));
  const DataSource hundred = open_data(at(folder.path() / "hundred"), 1);
  EXPECT_EQ(hundred.name, "cifar100");
  EXPECT_EQ(hundred.train->classes(), 100);
  EXPECT_EQ(hundred.train->label(0), 57);
}

TEST(Cifar, DamageIsNamedCountedAndSkipped) {
  const TemporaryFolder folder;
  folder.write("train.bin", cifar_record(57, 2) + cifar_record(100, 2) + cifar_record(1, 2) + Bytes(100, 1));
  folder.write("test.bin", cifar_record(3, 2));
  const std::string why = refusal([&] { open_data(at(folder.path()), 1); });
  EXPECT_NE(why.find("train.bin' is truncated"), std::string::npos) << why;
  const DataSource lenient = open_data(at(folder.path(), OnDamage::skip), 1);
  EXPECT_EQ(lenient.train->size(), 2u);
  EXPECT_EQ(lenient.train->label(1), 1);
  EXPECT_EQ(lenient.damage.front()->count(), 2u);
  fs::remove(folder.path() / "test.bin");
  EXPECT_NE(refusal([&] { open_data(at(folder.path(), OnDamage::skip), 1); }).find("test.bin' is missing"),
            std::string::npos);
}

Bytes npy(const std::string& type, const std::string& shape, const Bytes& numbers) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118, ' ');
  const std::string begin = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + header;
  return Bytes(begin.begin(), begin.end()) + numbers;
}

TEST(Npy, PairsInThreeLayouts) {
  const TemporaryFolder folder;
  Bytes planes, together;
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < 3; ++c)
      for (int p = 0; p < 20; ++p) planes.push_back(static_cast<std::uint8_t>(100 * n + 3 * p + c));
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 60; ++i) together.push_back(static_cast<std::uint8_t>(100 * n + i));
  folder.write("set/x_train.npy", npy("|u1", "(2, 3, 4, 5)", planes));
  folder.write("set/y_train.npy", npy("<i4", "(2,)", {1, 0, 0, 0, 0, 0, 0, 0}));
  folder.write("set/x_test.npy", npy("|u1", "(2, 4, 5, 3)", together));
  folder.write("set/y_test.npy", npy("|u1", "(2, 1)", {0, 1}));
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  EXPECT_EQ(source.train->shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(source.train->label(0), 1);
  EXPECT_EQ(pixels(*source.train, 1), pixels(*source.test, 1));

  folder.write("grey/images.npy", npy("|u1", "(3, 2, 2)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  folder.write("grey/labels.npy", npy("<i2", "(3,)", {1, 0, 0, 0, 1, 0}));
  const DataSource grey = open_data(at(folder.path() / "grey"), 1);
  EXPECT_EQ(grey.train->size() + grey.test->size(), 3u);
  EXPECT_EQ(grey.train->shape(), (Shape{1, 2, 2}));
}

TEST(Npy, LabelsThatDoNotFitAreDamage) {
  const TemporaryFolder folder;
  folder.write("images.npy", npy("|u1", "(4, 1, 1)", {1, 2, 3, 4}));
  folder.write("labels.npy", npy("|i1", "(3,)", {0, 1, 255}));
  EXPECT_NE(refusal([&] { open_data(at(folder.path()), 1); }).find("holds 3 labels"), std::string::npos);
  const DataSource lenient = open_data(at(folder.path(), OnDamage::skip), 1);
  EXPECT_EQ(lenient.train->size() + lenient.test->size(), 2u);
  EXPECT_EQ(lenient.damage.front()->count(), 2u);
}

TEST(Npy, RefusesOtherFiles) {
  const Bytes good = npy("|u1", "(2, 2)", {1, 2, 3, 4});
  EXPECT_EQ(parse_npy(good, "x").count(), 4u);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(parse_npy(std::span(good).first(length), "x"), RequestError) << length;
  EXPECT_THROW(parse_npy(good + Bytes{1}, "x"), RequestError);
  EXPECT_THROW(parse_npy(npy(">i4", "(1,)", {0, 0, 0, 1}), "x"), RequestError);
  EXPECT_THROW(parse_npy(npy("|u1", "(9999999999, 9999999999, 9999999999)", {1}), "x"), RequestError);
  EXPECT_THROW(parse_npy(npy("|u1", "(0, 5)", {}), "x"), RequestError);
  EXPECT_EQ(whole_number(parse_npy(npy("<i2", "(1,)", {0xfe, 0xff}), "x"), 0), -2);
}

Bytes picture(std::uint8_t shade) {
  return encode_png({.width = 4, .height = 4, .channels = 3, .pixels = Bytes(48, shade)});
}

// Packs FOLDER/set. Needs tar, gzip and zstd from Debian.
fs::path tar(const TemporaryFolder& folder, const std::string& name, const std::string& members) {
  const std::string command =
      "cd '" + folder.path().string() + "/set' && tar -caf ../" + name + " " + members;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return folder.path() / name;
}

TEST(Images, AFolderAndArchivesOfItAreTheSameSet) {
  const TemporaryFolder folder;
  std::uint8_t shade = 0;
  for (const std::string part : {"train", "test"})
    for (const std::string name : {"cat", "dog"})
      for (const std::string number : {"1", "2", "3"})
        folder.write("set/" + part + "/" + name + "/" + number + ".png", picture(shade += 9));
  const DataSource source = open_data(at(folder.path() / "set"), 1);
  ASSERT_EQ(source.train->size(), 6u);
  EXPECT_EQ(source.class_names, (std::vector<std::string>{"cat", "dog"}));
  for (const std::string ending : {"tar", "tar.gz", "tar.zst"}) {
    const DataSource archive = open_data(at(tar(folder, "set." + ending, "test train")), 1);
    ASSERT_EQ(archive.train->size(), 6u) << ending;
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(archive.train->label(i), source.train->label(i));
      EXPECT_EQ(pixels(*archive.train, i), pixels(*source.train, i));
    }
  }
}

TEST(Images, WebDatasetShards) {
  const TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) {
    folder.write("set/" + std::to_string(i) + ".png", picture(static_cast<std::uint8_t>(50 * i)));
    folder.write("set/" + std::to_string(i) + ".cls", std::to_string(i % 2));
  }
  fs::create_directories(folder.path() / "shards");
  tar(folder, "shards/train-000.tar", "0.cls 0.png 1.png 1.cls");
  tar(folder, "shards/train-001.tar", "2.cls 2.png");
  tar(folder, "shards/val-000.tar.gz", "3.cls 3.png");
  const DataSource source = open_data(at(folder.path() / "shards"), 1);
  EXPECT_EQ(source.kind, "tar shards (WebDataset)");
  ASSERT_EQ(source.train->size(), 3u);
  EXPECT_EQ(source.train->label(1), 1);
  EXPECT_EQ(pixels(*source.train, 2), Bytes(48, 100));
  EXPECT_EQ(pixels(*source.test, 0), Bytes(48, 150));
}

TEST(Images, ATruncatedArchiveIsNamedOrReadAsFarAsItGoes) {
  const TemporaryFolder folder;
  for (const std::string part : {"test", "train"})
    for (const std::string name : {"cat", "dog"})
      for (const std::string number : {"1", "2", "3"})
        folder.write("set/" + part + "/" + name + "/" + number + ".png", picture(3));
  tar(folder, "set.tar", "test train");
  Bytes bytes = folder.read("set.tar");
  while (bytes.back() == 0) bytes.pop_back();
  bytes.erase(bytes.end() - 20, bytes.end());  // into the last image
  folder.write("cut.tar", bytes);
  const std::string why = refusal([&] { open_data(at(folder.path() / "cut.tar"), 1); });
  EXPECT_NE(why.find("cut.tar' is truncated or damaged"), std::string::npos) << why;
  EXPECT_EQ(open_data(at(folder.path() / "cut.tar", OnDamage::skip), 1).train->size(), 5u);
}

TEST(Images, AFileThatVanishesIsReplacedByTheNextOfItsClass) {
  const TemporaryFolder folder;
  for (const std::string part : {"test", "train"})
    for (const std::string name : {"cat", "dog"})
      for (int i = 0; i < 3; ++i)
        folder.write("set/" + part + "/" + name + "/" + std::to_string(i) + ".png",
                     picture(static_cast<std::uint8_t>(name[0] + i)));
  const DataSource strict = open_data(at(folder.path() / "set"), 1);
  const DataSource lenient = open_data(at(folder.path() / "set", OnDamage::skip), 1);
  fs::remove(folder.path() / "set/train/cat/1.png");
  const std::string why = refusal([&] { pixels(*strict.train, 1); });
  EXPECT_NE(why.find("train/cat/1.png' has vanished"), std::string::npos) << why;
  EXPECT_EQ(pixels(*lenient.train, 1), Bytes(48, 'c' + 2));
  EXPECT_EQ(lenient.train->label(1), 0);
  fs::remove_all(folder.path() / "set/train/cat");
  EXPECT_NE(refusal([&] { pixels(*lenient.train, 1); }).find("every other sample of its class"),
            std::string::npos);
  EXPECT_EQ(lenient.damage.front()->count(), 3u);
}

// Each kind with three training samples of one class; sample i has shade 50 i.
void write_threes(const TemporaryFolder& folder) {
  Bytes shades, records;
  for (std::uint8_t i = 0; i < 3; ++i) {
    shades = shades + Bytes(9, static_cast<std::uint8_t>(50 * i));
    records = records + Bytes{0, 1} + Bytes(3072, static_cast<std::uint8_t>(50 * i));
    folder.write("set/train/a/" + std::to_string(i) + ".png", picture(static_cast<std::uint8_t>(50 * i)));
  }
  folder.write("npy/x_train.npy", npy("|u1", "(3, 3, 3)", shades));
  folder.write("npy/y_train.npy", npy("|u1", "(3,)", {1, 1, 1}));
  folder.write("npy/x_test.npy", npy("|u1", "(1, 3, 3)", Bytes(9, 1)));
  folder.write("npy/y_test.npy", npy("|u1", "(1,)", {1}));
  for (const std::string part : {"train", "t10k"}) {
    folder.write("idx/" + part + "-images-idx3-ubyte",
                 Bytes{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 3} + shades);
    folder.write("idx/" + part + "-labels-idx1-ubyte", Bytes{0, 0, 8, 1, 0, 0, 0, 3, 1, 1, 1});
  }
  folder.write("cifar/train.bin", records);
  folder.write("cifar/test.bin", records);
  for (const std::string name : {"train/b/0", "test/a/0", "test/b/0"})
    folder.write("set/" + name + ".png", picture(7));
  tar(folder, "set.tar", "train/a/0.png train/b test train/a/1.png train/a/2.png");
}

TEST(Kinds, WhatIsCutOffWhileItIsInUseIsDamage) {
  const TemporaryFolder folder;
  write_threes(folder);
  struct Case {
    std::string path, file;
  };
  for (const auto& [path, file] : {Case{"npy", "npy/x_train.npy"},
                                   {"idx", "idx/train-images-idx3-ubyte"},
                                   {"cifar", "cifar/train.bin"},
                                   {"set.tar", "set.tar"}}) {
    const DataSource strict = open_data(at(folder.path() / path), 1);
    const DataSource lenient = open_data(at(folder.path() / path, OnDamage::skip), 1);
    const Bytes first = pixels(*strict.train, 0);
    Bytes bytes = folder.read(file);
    while (bytes.back() == 0) bytes.pop_back();               // the padding at the end of a tar
    fs::resize_file(folder.path() / file, bytes.size() - 5);  // into the last sample
    EXPECT_EQ(pixels(*strict.train, 0), first) << path;
    const std::string why = refusal([&] { pixels(*strict.train, 2); });
    EXPECT_NE(why.find(file), std::string::npos) << why;
    EXPECT_NE(why.find("was cut off while"), std::string::npos) << why;
    // the next sample of its class, wrapping to the start
    EXPECT_EQ(pixels(*lenient.train, 2), first) << path;
    EXPECT_EQ(lenient.damage.front()->count(), 1u) << path;
  }
}

TEST(Kinds, NothingThatCanBeReadIsNamed) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal([&] { open_data(at(folder.path()), 1); }).find("holds nothing that can be read"),
            std::string::npos);
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "no"), 1); }).find("there is no"), std::string::npos);
  folder.write("notes.txt", std::string("hello"));
  EXPECT_NE(refusal([&] { open_data(at(folder.path() / "notes.txt"), 1); }).find("holds nothing"),
            std::string::npos);
  DataSettings named = at(folder.path());
  named.name = "cifar10";
  EXPECT_NE(refusal([&] { open_data(named, 1); }).find("holds no files of cifar10"), std::string::npos);
}

TEST(ImageFolder, LinksAreFollowedButNotInCircles) {
  const TemporaryFolder folder;
  const Image image{.width = 2, .height = 2, .channels = 1, .pixels = {1, 2, 3, 4}};
  for (const char* name : {"set/train/ant/1.png", "set/train/bee/1.png", "set/val/ant/1.png", "cow/1.png"})
    folder.write(name, encode_png(image));
  const fs::path set = folder.path() / "set";
  fs::create_directory_symlink(folder.path() / "cow",
                               set / "train" / "cow");  // as large sets are linked together
  fs::create_directory_symlink("../..", set / "train" / "ant" / "set");
  fs::create_directory_symlink("..", set / "train" / "bee" / "all");
  fs::create_directory_symlink("/", set / "train" / "everything");
  fs::create_directory_symlink("../ant", set / "val" / "ant" / "self");
  const DataSource source = open_data(at(set), 1);
  EXPECT_EQ(source.class_names, (std::vector<std::string>{"ant", "bee", "cow"}));
  EXPECT_EQ(source.train->size(), 3u);
  EXPECT_EQ(source.test->size(), 1u);
  const std::vector<std::string> notes = source.damage.front()->sentences();
  EXPECT_EQ(notes.size(), 4u);
  EXPECT_NE(notes.front().find("leads back to a folder around it and is left out"), std::string::npos);
  EXPECT_EQ(source.damage.front()->count(), 0u);

  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const fs::path link = set / "train" / ("class" + std::to_string(i)) / ("to" + std::to_string(j));
      fs::create_directories(link.parent_path());
      if (i != j) fs::create_directory_symlink("../class" + std::to_string(j), link);
    }
  const std::string why = refusal([&] { open_data(at(set), 1); });
  EXPECT_NE(why.find("is reached by more than 64 paths"), std::string::npos) << why;
}

}  // namespace
}  // namespace veche
