#include "veche/runtime/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <set>

#include "tests/support/temporary_folder.h"
#include "veche/errors.h"
#include "veche/random.h"
#include "veche/runtime/checkpoint/checkpoint_file.h"

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
      lost = 200 + static_cast<std::uint64_t>(node);
    }
    NodeState state(bool trains = true) {
      NodeState all;
      all.step = 5;
      all.vectors = {parameters, buffers, moments};
      all.numbers = {&first, &second};
      all.counters = {&lost};
      all.trains = trains;
      return all;
    }
    std::vector<float> parameters, buffers, moments;
    std::uint64_t first = 1, second = 2, lost = 3;
  };

  void save(std::uint64_t step, int nodes, const std::vector<bool>& trains = {}, std::uint64_t run = 77) {
    CheckpointStore store(path, nodes, run);
    for (int node = 0; node < nodes; ++node)
      store.write(step, NodeId{node},
                  Node(node).state(trains.empty() || trains[static_cast<std::size_t>(node)]));
    store.commit(step);
  }

  // As the first version wrote it: without `trains` and without the numbers.
  void make_old(std::uint64_t step, int node) const {
    const std::string name = "checkpoint/step-" + std::to_string(step) + "/node-" + std::to_string(node);
    std::vector<std::uint8_t> bytes = folder.read(name);
    bytes[7] = '1';
    const auto from = bytes.begin() + offsetof(CheckpointHeader, trains);
    bytes.erase(bytes.begin() + offsetof(CheckpointHeader, checkpoint),
                bytes.begin() + sizeof(CheckpointHeader) + 3 * sizeof(std::uint64_t));
    bytes.erase(from, from + 2 * sizeof(std::uint64_t));
    folder.write(name, bytes);
  }

  std::optional<std::uint64_t> newest(int nodes, std::uint64_t run = 77) {
    damaged_.clear();
    return CheckpointStore(path, nodes, run).newest([this](const DamagedPiece& piece) {
      damaged_.push_back(piece);
    });
  }
  // What the last search for the newest told.
  std::string said() const {
    std::string all;
    for (const DamagedPiece& piece : damaged_) all += piece.sentence();
    return all;
  }
  std::string why(const fs::path& file) const {
    for (const DamagedPiece& piece : damaged_)
      if (piece.file == file) return piece.why;
    return "";
  }

  std::vector<DamagedPiece> damaged_;
  const ::veche::testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint";
};

TEST_F(Checkpoints, GiveBackWhatWasSaved) {
  save(5, 2);
  const CheckpointStore store(path, 2);
  EXPECT_EQ(store.newest([](const DamagedPiece& piece) { ADD_FAILURE() << piece.sentence(); }), 5U);
  Node read;
  NodeState state = read.state();
  store.read(5, NodeId{1}, state);
  const Node saved(1);
  EXPECT_EQ(read.parameters, saved.parameters);
  EXPECT_EQ(read.buffers, saved.buffers);
  EXPECT_EQ(read.moments, saved.moments);
  EXPECT_EQ(read.first, saved.first);
  EXPECT_EQ(read.second, saved.second);
  EXPECT_EQ(read.lost, saved.lost);
  EXPECT_EQ(state.step, 5U);
}

TEST_F(Checkpoints, OfTheFirstVersionAreReadAndLeaveTheNumbersAlone) {
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
  EXPECT_EQ(read.lost, 3U);
  EXPECT_EQ(store.read_average_model(5).nodes, 2) << "it does not tell who trains: all do";
}

TEST_F(Checkpoints, OfALaterVersionSaySo) {
  save(5, 1);
  std::vector<std::uint8_t> bytes = folder.read("checkpoint/step-5/node-0");
  bytes[7] = '4';
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

// Every caller gets the same bits.
TEST_F(Checkpoints, HaveOneAverageOfThoseWhoTrain) {
  save(5, 4, {false, true, true, true});
  std::vector<double> expected(Node(1).parameters.size());
  for (const int node : {1, 2, 3}) {
    const std::vector<float> model = Node(node).parameters;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += model[i] / 3.0;
  }

  const CheckpointStore store(path, 4);
  const SavedModel exported = store.read_average_model(5);
  EXPECT_EQ(exported.nodes, 3);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(exported.parameters[i], expected[i], 1e-6);
  Node node;
  NodeState resumed = node.state();
  EXPECT_EQ(store.read_average(5, resumed), 3);
  EXPECT_EQ(node.parameters, exported.parameters);
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
  EXPECT_EQ(newest(2), 5U);
  EXPECT_EQ(said(), "the checkpoint " + file.string() +
                        " is damaged and passed over: its checksum is wrong, it was cut short or changed");
  EXPECT_EQ(CheckpointStore(path, 2).latest(), 6U);
  fs::resize_file(file, 20);
  newest(2);
  EXPECT_EQ(why(file), "it is cut short");
  fs::remove(file);
  newest(2);
  EXPECT_EQ(why(file), "it is missing");
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(newest(2), 5U) << "and nobody waits for a writer";
  EXPECT_EQ(why(file), "it cannot be read: it is a device or a pipe, not a file");
}

TEST_F(Checkpoints, PiecesOfOtherNodesStepsAndRunsAreDamage) {
  save(5, 3);
  save(6, 3);
  const fs::path newer = path / "step-6", older = path / "step-5";
  const auto swap = [](const fs::path& a, const fs::path& b) {
    fs::rename(a, a.string() + "-");
    fs::rename(b, a);
    fs::rename(a.string() + "-", b);
  };
  swap(newer / "node-1", newer / "node-2");
  EXPECT_EQ(newest(3), 5U);
  EXPECT_EQ(why(newer / "node-1"), "it is that of node 2");
  EXPECT_EQ(why(newer / "node-2"), "it is that of node 1");
  swap(newer / "node-1", newer / "node-2");

  swap(newer / "node-1", older / "node-1");
  EXPECT_EQ(newest(3), std::nullopt);
  EXPECT_EQ(why(newer / "node-1"), "it is of step 5");
  EXPECT_EQ(why(older / "node-1"), "it is of step 6");
  swap(newer / "node-1", older / "node-1");
  EXPECT_EQ(newest(3), 6U);

  fs::rename(path, folder.path() / "mine");
  save(6, 3, {}, 0xabc);
  const fs::path other = folder.path() / "other";
  fs::rename(path, other);
  fs::rename(folder.path() / "mine", path);
  swap(newer / "node-2", other / "step-6/node-2");
  EXPECT_EQ(newest(3, 77), 5U);
  EXPECT_EQ(why(newer / "node-2"), "it is of the run 0000000000000abc, this is 000000000000004d");
  EXPECT_EQ(newest(3, 0), 5U) << "where the run's id is unknown, the first piece tells";
}

// Those of a run that was copied, and went on, are the same run's.
TEST_F(Checkpoints, OfARunWhoseIdIsUnknownAreWhole) {
  save(5, 2, {}, 0);
  save(6, 2, {}, 0xabc);
  EXPECT_EQ(newest(2, 0), 6U);
  EXPECT_EQ(CheckpointStore(path, 2).run_at(6), 0xabcU);
  EXPECT_EQ(newest(2, 0xdef), 5U);
}

TEST_F(Checkpoints, ThatAreDamagedAreSetAsideAndStay) {
  for (int round = 1; round <= 2; ++round) {
    save(5, 2);
    save(6, 2);
    fs::resize_file(path / "step-6/node-0", 20);
    fs::resize_file(path / "step-6/node-1", 20);
    EXPECT_EQ(newest(2), 5U);
    const auto places = CheckpointStore(path, 2).set_aside(damaged_);
    ASSERT_EQ(places.size(), 1U);
    EXPECT_EQ(places[0], path / (round == 1 ? "damaged-step-6" : "damaged-step-6.2"));
  }
  for (std::uint64_t step = 6; step < 10; ++step) save(step, 2);
  EXPECT_TRUE(fs::exists(path / "damaged-step-6/node-0"));
  EXPECT_FALSE(fs::exists(path / "step-7"));
}

TEST_F(Checkpoints, AllOfWhichAreDamagedAreASentence) {
  save(5, 5);
  for (const int node : {0, 1, 2, 4}) fs::resize_file(path / ("step-5/node-" + std::to_string(node)), 20);
  EXPECT_EQ(newest(5), std::nullopt);
  try {
    refuse_damaged(damaged_, "do this");
    FAIL();
  } catch (const RequestError& error) {
    const std::string file = (path / "step-5/node-").string();
    EXPECT_EQ(error.what(), "no checkpoint of the run is whole (" + file + "0: it is cut short; " + file +
                                "1: it is cut short; " + file +
                                "2: it is cut short (and 1 more files)): put whole files back, or do this");
  }
}

TEST_F(Checkpoints, LengthsBeyondTheFileAreRefused) {
  save(5, 1);
  std::vector<std::uint8_t> bytes = folder.read("checkpoint/step-5/node-0");
  const std::size_t sizes = sizeof(CheckpointHeader) + 3 * sizeof(std::uint64_t);
  for (const std::size_t at :
       {sizes + 7, sizes + 2, offsetof(CheckpointHeader, numbers) + 7,
        offsetof(CheckpointHeader, vectors) + 7, offsetof(CheckpointHeader, counters) + 7}) {
    auto harmed = bytes;
    harmed[at] = 0x7f;
    folder.write("checkpoint/step-5/node-0", harmed);
    EXPECT_THROW(CheckpointStore(path, 1).read_model(5, NodeId{0}), RunError) << at;
  }
}

// A run that was killed after its last commit has no later one that could remove them.
TEST_F(Checkpoints, ThatAKilledRunLeftAreRemovedOnResume) {
  for (const std::uint64_t step : {3, 5, 7}) save(step, 1);
  fs::copy(path / "step-7", path / "step-1");
  fs::create_directory(path / "unfinished-9");
  CheckpointStore(path, 1).remove_leftovers();
  std::set<fs::path> left;
  for (const auto& entry : fs::directory_iterator(path)) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<fs::path>{"step-5", "step-7"}));
}

TEST_F(Checkpoints, AreNotSavedIntoARunThatIsGone) {
  const fs::path gone = folder.path() / "gone";
  CheckpointStore store(gone / "checkpoint", 1);
  EXPECT_THROW(store.write(1, NodeId{0}, Node(0).state()), RunError);
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(Checkpoints, InAFolderThatIsNoneAreASentence) {
  const fs::path file = folder.write("file", std::string("text"));
  EXPECT_THROW(CheckpointStore(file, 1).remove_leftovers(), RunError);
  EXPECT_THROW(CheckpointStore(file, 1).write(1, NodeId{0}, Node(0).state()), RunError);
}

}  // namespace
}  // namespace veche
