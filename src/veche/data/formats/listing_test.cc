#include "veche/data/formats/listing.h"

#include <gtest/gtest.h>

namespace veche {
namespace {

Files files(std::vector<std::string> paths, const std::string& text = "") {
  return {.place = "set", .paths = std::move(paths), .text = [text](std::size_t) { return text; }};
}

// Every item as "0:train/cat/1.jpg", label first.
std::vector<std::string> shown(const Files& files, const std::vector<Listing::Item>& items) {
  std::vector<std::string> result;
  for (const auto item : items) result.push_back(std::to_string(item.label) + ":" + files.paths[item.file]);
  return result;
}

std::string refusal(const Files& given, const std::vector<std::string>& folders = {}) {
  try {
    is_webdataset(given) ? list_webdataset(given, {}) : list_by_class(given, folders, {});
  } catch (const RequestError& error) {
    return error.what();
  }
  return "nothing was refused";
}

using Shown = std::vector<std::string>;

TEST(Listing, TrainAndTestByClassInTheOrderOfNames) {
  const Files set = files({"test/dog/b.png", "train/dog/2.jpg", "train/cat/9.JPEG", "train/cat/1.jpg",
                           "README.txt", "train/.cache/x.jpg"});
  const Listing listing = list_by_class(set, {}, {});
  EXPECT_EQ(listing.classes, (Shown{"cat", "dog"}));
  EXPECT_EQ(shown(set, listing.train),
            (Shown{"0:train/cat/1.jpg", "0:train/cat/9.JPEG", "1:train/dog/2.jpg"}));
  EXPECT_EQ(shown(set, listing.test), (Shown{"1:test/dog/b.png"}));
}

TEST(Listing, TinyImageNetWithAFolderAround) {
  const Files set =
      files({"tiny-imagenet-200/train/n01/images/n01_0.JPEG", "tiny-imagenet-200/train/n02/images/n02_0.JPEG",
             "tiny-imagenet-200/val/images/val_0.JPEG", "tiny-imagenet-200/val/images/val_1.JPEG",
             "tiny-imagenet-200/val/val_annotations.txt", "tiny-imagenet-200/test/images/test_0.JPEG",
             "tiny-imagenet-200/words.txt"},
            "val_0.JPEG\tn02\t0\t0\t62\t63\nval_1.JPEG\tn01\t1\t2\t3\t4\n");
  const Listing listing = list_by_class(set, {}, {});
  EXPECT_EQ(listing.classes, (Shown{"n01", "n02"}));
  EXPECT_EQ(listing.train.size(), 2u);
  EXPECT_EQ(shown(set, listing.test), (Shown{"1:tiny-imagenet-200/val/images/val_0.JPEG",
                                             "0:tiny-imagenet-200/val/images/val_1.JPEG"}));
}

TEST(Listing, LabelsAndImagesThatDoNotMatchAreDamage) {
  const std::vector<std::string> paths = {"train/a/1.jpg", "train/b/1.jpg", "val/images/0.jpg",
                                          "val/images/1.jpg", "val/val_annotations.txt"};
  EXPECT_NE(refusal(files(paths, "0.jpg\ta\n")).find("'val/images/1.jpg' has no label"), std::string::npos);
  EXPECT_NE(
      refusal(files(paths, "0.jpg\ta\n1.jpg\tb\n2.jpg\tb\n")).find("labels 1 images that are not there"),
      std::string::npos);
  EXPECT_NE(refusal(files(paths, "0.jpg\ta\n1.jpg\tz\n")).find("the class 'z'"), std::string::npos);
  const DamagePolicy skip{.on = OnDamage::skip};
  const Listing listing = list_by_class(files(paths, "0.jpg\ta\n2.jpg\tb\n"), {}, skip);
  EXPECT_EQ(listing.test.size(), 1u);
  EXPECT_EQ(skip.log->count(), 2u);
}

TEST(Listing, WithoutATestSetEveryTenthIsHeldOut) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& folder, int count) {
    for (int i = 10; i < 10 + count; ++i)
      paths.push_back(std::string(folder).append(std::to_string(i)).append(".png"));
  };
  add("cats-and-dogs/cat/", 30);
  add("cats-and-dogs/dog/", 20);
  const Files set = files(paths);
  const Listing listing = list_by_class(set, {}, {});
  EXPECT_EQ(listing.classes, (Shown{"cat", "dog"}));
  EXPECT_EQ(listing.train.size(), 45u);
  EXPECT_EQ(shown(set, listing.test),
            (Shown{"0:cats-and-dogs/cat/19.png", "0:cats-and-dogs/cat/29.png", "0:cats-and-dogs/cat/39.png",
                   "1:cats-and-dogs/dog/19.png", "1:cats-and-dogs/dog/29.png"}));
}

TEST(Listing, RefusesWhatIsNoSet) {
  EXPECT_NE(refusal(files({"notes.txt"})).find("holds no images"), std::string::npos);
  EXPECT_NE(refusal(files({"a/1.jpg", "a/2.jpg"})).find("two classes at least"), std::string::npos);
  EXPECT_NE(refusal(files({"train/a/1.jpg", "train/b/1.jpg"})).find("no images in val/ or test/"),
            std::string::npos);
  EXPECT_NE(refusal(files({"train/a/1.jpg", "train/b/1.jpg", "val/c/1.jpg"})).find("does not have"),
            std::string::npos);
}

TEST(Listing, FormatsThatAreNotReadAreNamed) {
  const std::string none = refusal(files({"a/1.bmp", "b/1.bmp"}));
  EXPECT_NE(
      none.find("holds no images that can be read: 2 files, such as 'a/1.bmp', are of a format that is not "
                "read (BMP): convert to JPEG or PNG"),
      std::string::npos)
      << none;
  const Files mixed = files({"a/1.jpg", "a/2.WEBP", "b/1.jpg", "b/2.gif", "b/3.jpg", "logo.gif"});
  EXPECT_NE(refusal(mixed).find("2 files, such as 'a/2.WEBP', are of a format that is not read (GIF, WebP)"),
            std::string::npos)
      << refusal(mixed);
  const DamagePolicy skip{.on = OnDamage::skip};
  const Listing listing = list_by_class(mixed, {}, skip);
  EXPECT_EQ(listing.train.size() + listing.test.size(), 3u);
  EXPECT_EQ(skip.log->count(), 2u);
}

TEST(Listing, AnEmptyClassIsDamageAndKeepsItsLabel) {
  const Files set = files({"train/a/1.jpg", "train/c/1.jpg", "val/a/1.jpg"});
  const std::vector<std::string> folders = {"train", "train/a", "train/b", "train/c", "val", "val/a"};
  EXPECT_NE(refusal(set, folders).find("class 'train/b' of 'set' has no images"), std::string::npos);
  const DamagePolicy skip{.on = OnDamage::skip};
  const Listing listing = list_by_class(set, folders, skip);
  EXPECT_EQ(listing.classes, (Shown{"a", "b", "c"}));
  EXPECT_EQ(listing.train.back().label, 2u);
  EXPECT_EQ(skip.log->sentences().size(), 1u);
}

TEST(Listing, WebDatasetPairs) {
  std::vector<std::string> texts = {"1\n", "", "", "0", "1", "", "0", ""};
  Files set{.place = "shards",
            .paths = {"train-0.tar/a/0001.cls", "train-0.tar/a/0001.jpg", "train-0.tar/0002.jpg",
                      "train-0.tar/0002.cls", "val-0.tar/0001.cls", "val-0.tar/0001.seg.png",
                      "val-0.tar/0002.cls", "val-0.tar/0002.jpg"},
            .text = [texts](std::size_t i) { return texts[i]; }};
  ASSERT_TRUE(is_webdataset(set));
  const Listing listing = list_webdataset(set, {});
  EXPECT_EQ(shown(set, listing.train), (Shown{"1:train-0.tar/a/0001.jpg", "0:train-0.tar/0002.jpg"}));
  EXPECT_EQ(shown(set, listing.test), (Shown{"1:val-0.tar/0001.seg.png", "0:val-0.tar/0002.jpg"}));

  set.paths[1] = "train-0.tar/a/0001.txt";
  EXPECT_NE(refusal(set).find("'train-0.tar/a/0001' of 'shards' has a .cls but no image"), std::string::npos);
  set.paths[1] = "train-0.tar/a/0001.webp";
  EXPECT_NE(refusal(set).find("'train-0.tar/a/0001' of 'shards' is a WebP picture"), std::string::npos);
  set.paths[1] = "train-0.tar/a/0001.jpg";
  set.text = [texts](std::size_t i) { return i == 3 ? "cat" : texts[i]; };
  EXPECT_NE(refusal(set).find("not the number of a class"), std::string::npos);
}

}  // namespace
}  // namespace veche
