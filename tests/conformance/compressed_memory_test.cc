// A codec's memory survives a checkpoint; a damaged code never reaches a model.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "tests/support/codecs.h"
#include "tests/support/data_sets.h"
#include "tests/support/network.h"
#include "tests/support/temporary_folder.h"
#include "veche/comm/tags.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

class Listener : public RunObserver {
 public:
  void on_progress(const Progress& /*progress*/) override {}
  void on_evaluation(const Evaluation& /*evaluation*/) override {}
  void on_notice(const std::string& sentence) override { said += sentence + "\n"; }
  std::string said;
};

TrainingRequest request_of(const Assignments& assignments) {
  Config config;
  config.set("model.name=quadratic");
  config.set("cluster.nodes=4");
  config.set("optimizer.name=sgd");
  config.set("optimizer.lr=0.1");
  for (const std::string& assignment : assignments) config.set(assignment);
  TrainingRequest request;
  request.settings = config.resolve();
  request.learner = testing::drawn_learner;
  return request;
}

class Resumed : public ::testing::TestWithParam<Assignments> {};

TEST_P(Resumed, EndsWithTheSameBytes) {
  const testing::TemporaryFolder folder;
  const Assignments how = joined(GetParam(), {"run.out=" + folder.path().string(), "run.name=run",
                                              "run.steps=40", "run.checkpoint_every=23"});
  const RunResult whole = run_training(request_of(how));
  const auto checkpoints = folder.path() / "run" / "checkpoint";
  ASSERT_TRUE(std::filesystem::exists(checkpoints / "step-23"));
  std::filesystem::rename(checkpoints / "step-40", folder.path() / "as-it-was");
  std::filesystem::remove(folder.path() / "run" / "summary.json");
  TrainingRequest again = request_of(how);
  again.resume = folder.path() / "run";
  EXPECT_EQ(run_training(again).parameters, whole.parameters);
  for (int node = 0; node < 4; ++node) {
    const std::string name = "node-" + std::to_string(node);
    EXPECT_EQ(folder.read("run/checkpoint/step-40/" + name), folder.read("as-it-was/" + name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Memories, Resumed,
    ::testing::Values(
        Assignments{"strategy.name=allreduce", "compress.codec=topk:0.1"},
        Assignments{"strategy.name=allreduce", "compress.codec=powersgd:1"},
        Assignments{"strategy.name=allreduce", "compress.codec=bf16", "compress.error_feedback=true"},
        Assignments{"strategy.name=allreduce", "compress.codec=dgc:0.1", "optimizer.momentum=0.9"},
        Assignments{"strategy.name=allreduce", "compress.codec=qsgd:4"},
        Assignments{"strategy.name=consensus", "compress.codec=topk:0.1"},
        Assignments{"strategy.name=consensus", "compress.codec=powersgd:1",
                    "strategy.correction=gradient-tracking"},
        Assignments{"strategy.name=consensus", "compress.codec=powergossip:1"},
        Assignments{"strategy.name=consensus", "compress.codec=sign", "compress.start=30"},
        Assignments{"strategy.name=gossip", "compress.codec=topk:0.1"},
        Assignments{"strategy.name=moshpit", "compress.codec=randomk:0.2"},
        Assignments{"strategy.name=push-sum", "compress.codec=int8"},
        Assignments{"strategy.name=local-sgd", "strategy.period=3", "compress.codec=powersgd:2"},
        Assignments{"strategy.name=parameter-server", "strategy.servers=2", "compress.codec=topk:0.1"},
        Assignments{"strategy.name=hierarchical", "compress.codec=sign"}),
    [](const auto& info) {
      std::string name;
      for (const std::string& word : info.param) name += word.substr(word.find('=') + 1) + "_";
      std::ranges::replace_if(
          name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
      return name;
    });

TEST(Memories, OfAnotherNumberOfNodesAreForgotten) {
  const testing::TemporaryFolder folder;
  const Assignments how{"compress.codec=topk:0.1", "run.out=" + folder.path().string(), "run.name=run"};
  run_training(request_of(joined(how, {"run.steps=10"})));
  TrainingRequest more = request_of(joined(how, {"run.steps=20", "cluster.nodes=6"}));
  more.resume = folder.path() / "run";
  Listener listener;
  more.observer = &listener;
  EXPECT_EQ(run_training(more).last.step, 20U);
  EXPECT_NE(listener.said.find("the memory of codecs is lost"), std::string::npos) << listener.said;
}

// Truncates or extends node 1's codes from some message on.
class Damaging : public Endpoint {
 public:
  Damaging(std::unique_ptr<Endpoint> inner, bool longer)
      : Endpoint(*inner), inner_(std::move(inner)), longer_(longer) {}

  void send(NodeId to, Tag tag, Message message) override {
    const bool talks = tag == tags::strategy || Tag{tag.value >> Tag::kChildBits} == tags::strategy;
    if (talks && id() == NodeId{1} && to != id() && message.size() > 8 && ++harmful_ > 12) {
      Message harmed = pool_.make(longer_ ? message.size() + 3 : message.size() / 2);
      std::memset(harmed.writable<std::byte>().data(), 0xff, harmed.size());
      std::memcpy(harmed.writable<std::byte>().data(), message.bytes().data(),
                  std::min(message.size(), harmed.size()));
      message = harmed;
    }
    inner_->send(to, tag, std::move(message));
  }
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return inner_->receive(from, tag, deadline);
  }
  void flush() override { inner_->flush(); }
  Time now() const override { return inner_->now(); }
  bool alive(NodeId peer) const override { return inner_->alive(peer); }
  void spawn(std::function<void()> helper) override { inner_->spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return inner_->compute(what, work);
  }

 private:
  const std::unique_ptr<Endpoint> inner_;
  const bool longer_;
  MessagePool pool_;
  std::atomic<int> harmful_ = 0;
};

TEST(Damage, NamesThePeer) {
  const std::vector<Assignments> forms = {{"strategy.name=allreduce", "strategy.algorithm=ring"},
                                          {"strategy.name=consensus"},
                                          {"strategy.name=gossip"},
                                          {"strategy.name=moshpit"},
                                          {"strategy.name=push-sum"},
                                          {"strategy.name=local-sgd", "strategy.period=1"},
                                          {"strategy.name=parameter-server"}};
  for (const Assignments& form : forms)
    for (const char* codec : {"fp16", "int8", "topk:0.2", "sign"})
      for (const bool longer : {false, true}) {
        SCOPED_TRACE(form.front() + " " + codec + (longer ? " longer" : " cut"));
        TrainingRequest request =
            request_of(joined(form, {std::string("compress.codec=") + codec, "run.steps=50"}));
        request.keep = false;
        request.network = [&](auto inner) { return std::make_unique<Damaging>(std::move(inner), longer); };
        const std::string said = testing::refusal([&] { run_training(request); });
        EXPECT_NE(said.find("node 1"), std::string::npos) << said;
        EXPECT_EQ(said.find("is gone"), std::string::npos) << said;
      }
}

}  // namespace
}  // namespace veche
