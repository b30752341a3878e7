#include "veche/runtime/checkpoint.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/support/temporary_folder.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/runtime/checkpoint_file.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public ::testing::Test {
 protected:
  // A node with a model of its own, as it is before anything was read into it.
  struct Node {
    explicit Node(int node = -1) : parameters(1001), buffers(7), moments(1001) {
      if (node < 0) return;
      RandomStream random(1, "test", static_cast<std::uint64_t>(node));
      for (float& x : parameters) x = static_cast<float>(random.normal());
      for (float& x : buffers) x = static_cast<float>(random.normal());
      for (float& x : moments) x = static_cast<float>(random.normal());
      first = 100 + static_cast<std::uint64_t>(node);
      second = ~std::uint64_t{0} - static_cast<std::uint64_t>(node);
    }
    NodeState state(bool trains = true) {
      NodeState all;
      all.step = 5;
      all.vectors = {parameters, buffers, moments};
      all.numbers = {&first, &second};
      all.trains = trains;
      return all;
    }
    std::vector<float> parameters, buffers, moments;
    std::uint64_t first = 1, second = 2;
  };

  void save(std::uint64_t step, int nodes, const std::vector<bool>& trains = {}) {
    CheckpointStore store(path, nodes);
    for (int node = 0; node < nodes; ++node)
      store.write(step, NodeId{node},
                  Node(node).state(trains.empty() || trains[static_cast<std::size_t>(node)]));
    store.commit(step);
  }

  // As the version before this one wrote it: without `trains` and without the numbers.
  void make_old(std::uint64_t step, int node) const {
    const std::string name = "checkpoint/step-" + std::to_string(step) + "/node-" + std::to_string(node);
    std::vector<std::uint8_t> bytes = folder.read(name);
    bytes[7] = '1';
    const auto from = bytes.begin() + offsetof(CheckpointHeader, trains);
    bytes.erase(bytes.begin() + sizeof(CheckpointHeader),
                bytes.begin() + sizeof(CheckpointHeader) + 2 * sizeof(std::uint64_t));
    bytes.erase(from, from + 2 * sizeof(std::uint64_t));
    folder.write(name, bytes);
  }

  const ::veche::testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint";
};

TEST_F(Checkpoints, GiveBackWhatWasSaved) {
  save(5, 2);
  const CheckpointStore store(path, 2);
  EXPECT_EQ(store.newest([](const std::string& sentence) { ADD_FAILURE() << sentence; }), 5U);
  Node read;
  NodeState state = read.state();
  store.read(5, NodeId{1}, state);
  const Node saved(1);
  EXPECT_EQ(read.parameters, saved.parameters);
  EXPECT_EQ(read.buffers, saved.buffers);
  EXPECT_EQ(read.moments, saved.moments);
  EXPECT_EQ(read.first, saved.first);
  EXPECT_EQ(read.second, saved.second);
  EXPECT_EQ(state.step, 5U);
}

TEST_F(Checkpoints, OfTheVersionBeforeAreReadAndLeaveTheNumbersAlone) {
  save(5, 2, {false, true});
  for (const int node : {0, 1}) make_old(5, node);
  const CheckpointStore store(path, 2);
  Node read;
  NodeState state = read.state();
  store.read(5, NodeId{1}, state);
  EXPECT_EQ(read.parameters, Node(1).parameters);
  EXPECT_EQ(read.moments, Node(1).moments);
  EXPECT_EQ(read.first, 1U);
  EXPECT_EQ(read.second, 2U);
  EXPECT_EQ(store.read_average_model(5).nodes, 2) << "it does not tell who trains: all do";
}

TEST_F(Checkpoints, OfALaterVersionSaySo) {
  save(5, 1);
  std::vector<std::uint8_t> bytes = folder.read("checkpoint/step-5/node-0");
  bytes[7] = '3';
  folder.write("checkpoint/step-5/node-0", bytes);
  EXPECT_THROW(CheckpointStore(path, 1).nodes_at(5), RequestError);
}

TEST_F(Checkpoints, OfSomethingElseAreRefused) {
  save(5, 2);
  Node node;
  NodeState more = node.state();
  more.vectors.emplace_back(node.moments);
  EXPECT_THROW(CheckpointStore(path, 2).read(5, NodeId{0}, more), RequestError);
  NodeState shorter = node.state();
  shorter.vectors[0] = shorter.vectors[0].first(1000);
  EXPECT_THROW(CheckpointStore(path, 2).read(5, NodeId{0}, shorter), RequestError);
  NodeState fewer = node.state();
  fewer.numbers.pop_back();
  EXPECT_THROW(CheckpointStore(path, 2).read(5, NodeId{0}, fewer), RequestError);
  NodeState same = node.state();
  EXPECT_THROW(CheckpointStore(path, 3).read(5, NodeId{0}, same), RequestError);
}

// The sum in the order of nodes times one over their number, whoever asks.
TEST_F(Checkpoints, HaveOneAverageOfThoseWhoTrain) {
  save(5, 4, {false, true, true, true});
  std::vector<float> expected = Node(1).parameters;
  for (const int node : {2, 3}) {
    const std::vector<float> other = Node(node).parameters;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
  }
  for (float& x : expected) x *= 1.0F / 3;

  const CheckpointStore store(path, 4);
  const SavedModel exported = store.read_average_model(5);
  EXPECT_EQ(exported.nodes, 3);
  EXPECT_EQ(exported.parameters, expected);
  Node node;
  NodeState resumed = node.state();
  EXPECT_EQ(store.read_average(5, resumed), 3);
  EXPECT_EQ(node.parameters, expected);
  EXPECT_EQ(node.buffers, exported.buffers);
  EXPECT_EQ(node.first, 1U) << "counters have no average";
}

TEST_F(Checkpoints, OfNodesThatMadeStepsOfTheirOwnAreAtTheMean) {
  CheckpointStore store(path, 2);
  for (const int node : {0, 1}) {
    Node saved(node);
    NodeState state = saved.state();
    state.step = node == 0 ? 10 : 21;
    store.write(15, NodeId{node}, state);
  }
  store.commit(15);
  Node node;
  NodeState resumed = node.state();
  store.read_average(15, resumed);
  EXPECT_EQ(resumed.step, 15U);
}

TEST_F(Checkpoints, AreOfAllWhereNobodyTrains) {
  save(5, 2, {false, false});
  EXPECT_EQ(CheckpointStore(path, 2).read_average_model(5).nodes, 2);
}

TEST_F(Checkpoints, WhatIsDamagedIsNamedAndPassedOver) {
  save(5, 2);
  save(6, 2);
  const fs::path file = path / "step-6/node-1";
  fs::resize_file(file, fs::file_size(file) - 1);
  std::string said;
  EXPECT_EQ(CheckpointStore(path, 2).newest([&](const std::string& sentence) { said += sentence; }), 5U);
  EXPECT_EQ(said, "the checkpoint " + file.string() + " is damaged and passed over");
  EXPECT_EQ(CheckpointStore(path, 2).latest(), 6U);
}

TEST_F(Checkpoints, LengthsBeyondTheFileAreRefused) {
  save(5, 1);
  std::vector<std::uint8_t> bytes = folder.read("checkpoint/step-5/node-0");
  const std::size_t sizes = sizeof(CheckpointHeader) + 2 * sizeof(std::uint64_t);
  for (const std::size_t at : {sizes + 7, sizes + 2, sizes - 17, sizes - 25}) {
    auto harmed = bytes;
    harmed[at] = 0x7f;
    folder.write("checkpoint/step-5/node-0", harmed);
    EXPECT_THROW(CheckpointStore(path, 1).read_model(5, NodeId{0}), RunError) << at;
  }
}

TEST_F(Checkpoints, AreNotSavedIntoARunThatIsGone) {
  const fs::path gone = folder.path() / "gone";
  CheckpointStore store(gone / "checkpoint", 1);
  EXPECT_THROW(store.write(1, NodeId{0}, Node(0).state()), RunError);
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(Checkpoints, InAFolderThatIsNoneAreASentence) {
  const fs::path file = folder.write("file", std::string("text"));
  EXPECT_THROW(CheckpointStore(file, 1).remove_unfinished(), RunError);
  EXPECT_THROW(CheckpointStore(file, 1).write(1, NodeId{0}, Node(0).state()), RunError);
}

}  // namespace
}  // namespace veche
