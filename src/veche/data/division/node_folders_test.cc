#include "veche/data/division/node_folders.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "veche/data/sets/image_set.h"
#include "veche/data/sets/joined_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// The four MNIST files with `count` images of 2x2 pixels, all of one brightness and one label.
void write_set(const fs::path& folder, int count, char brightness, char label) {
  fs::create_directories(folder);
  const auto n = static_cast<char>(count);
  const std::vector<char> images{0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, 2, 0, 0, 0, 2},
      labels{0, 0, 8, 1, 0, 0, 0, n};
  const auto write = [&](const std::string& name, const std::vector<char>& header, int bytes, char value) {
    std::ofstream out(folder / name, std::ios::binary);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (int i = 0; i < bytes; ++i) out.put(value);
  };
  for (const std::string part : {"train", "t10k"}) {
    write(part + "-images-idx3-ubyte", images, 4 * count, brightness);
    write(part + "-labels-idx1-ubyte", labels, count, label);
  }
}

class NodeFoldersTest : public testing::Test {
 protected:
  NodeFoldersTest() : folder_(fs::temp_directory_path() / ("veche_folders_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~NodeFoldersTest() override { fs::remove_all(folder_); }

  static DataSettings mnist(DataPath path) { return {.name = "mnist", .path = std::move(path)}; }
  static std::string refusal(const DataSettings& settings, int nodes) {
    try {
      open_node_folders(settings, 1, nodes);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  const fs::path folder_;
};

TEST_F(NodeFoldersTest, GivesEachNodeItsFolderInTheOrderOfNumbers) {
  write_set(folder_ / "node2", 3, 20, 2);
  write_set(folder_ / "node10", 5, 100, 7);
  const NodeFolders folders = open_node_folders(mnist({folder_.string()}), 1, 2);
  EXPECT_EQ(folders.ends, (std::vector<std::size_t>{3, 8}));
  EXPECT_EQ(folders.source.train->size(), 8u);
  EXPECT_EQ(folders.source.test->size(), 8u);
  const auto& train = dynamic_cast<const PixelSet&>(*folders.source.train);
  for (std::size_t sample = 0; sample < 8; ++sample) {
    EXPECT_EQ(folders.owner(sample), sample < 3 ? 0u : 1u);
    EXPECT_EQ(train.label(sample), sample < 3 ? 2 : 7);
    EXPECT_EQ(train.pixels(sample, {}).front(), sample < 3 ? 20 : 100);
  }
}

TEST_F(NodeFoldersTest, TakesAListInItsOrder) {
  write_set(folder_ / "a", 3, 20, 2);
  write_set(folder_ / "b", 5, 100, 7);
  const std::vector<std::string> list{(folder_ / "b").string(), (folder_ / "a").string()};
  EXPECT_EQ(open_node_folders(mnist({.one = {}, .per_node = list}), 1, 2).ends,
            (std::vector<std::size_t>{5, 8}));
}

TEST_F(NodeFoldersTest, RefusesInOneSentence) {
  write_set(folder_ / "a", 3, 20, 2);
  EXPECT_EQ(refusal(mnist({folder_.string()}), 2),
            "data.path gives 1 folders to 2 nodes with data; there must be one each");
  EXPECT_NE(refusal(mnist({(folder_ / "none").string()}), 2).find("is no folder"), std::string::npos);
  EXPECT_NE(refusal(DataSettings{}, 2).find("needs data.path"), std::string::npos);
  fs::create_directories(folder_ / "b");
  EXPECT_NE(refusal(mnist({folder_.string()}), 2).find("train-images-idx3-ubyte' is missing"),
            std::string::npos);
}

std::shared_ptr<const Dataset> images(std::vector<std::uint8_t> pixels, std::vector<std::int64_t> labels,
                                      double mean, double deviation) {
  return std::make_shared<ImageSet>(samples_of({1, 1, 1}, 2, std::move(pixels), std::move(labels)),
                                    Normalization{.mean = {mean}, .deviation = {deviation}});
}

TEST(Join, CallsLabelsAsTheWholeDoesAndPoolsTheNormalisation) {
  const auto joined =
      join({{images({0, 0}, {0, 1}, 0.0, 0.3), {2, 0}}, {images({255, 255}, {1, 1}, 1.0, 0.3), {0, 1}}}, 3);
  EXPECT_EQ(joined->classes(), 3);
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < joined->size(); ++i) labels.push_back(joined->label(i));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{2, 0, 1, 1}));
  const Normalization& pooled = dynamic_cast<const PixelSet&>(*joined).normalization();
  EXPECT_DOUBLE_EQ(pooled.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(pooled.deviation[0], std::sqrt(0.09 + 0.25));
}

TEST(Join, RefusesUnequalShapes) {
  const auto wide = std::make_shared<ImageSet>(samples_of({1, 1, 2}, 2, {1, 2}, {0}),
                                               Normalization{.mean = {0}, .deviation = {1}});
  EXPECT_THROW(join({{images({1}, {0}, 0, 1), {0, 1}}, {wide, {0, 1}}}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace veche
