#include "veche/register.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "tests/support/data_sets.h"
#include "tests/support/temporary_folder.h"
#include "veche/collectives.h"
#include "veche/compression.h"
#include "veche/config.h"
#include "veche/errors.h"
#include "veche/group.h"
#include "veche/run.h"
#include "veche/runtime/plan/pipeline_plan.h"
#include "veche/runtime/plan/run_plan.h"

namespace veche {
namespace {

using testing::refusal;
using ::testing::Test;

// One parameter that follows the samples it is given, and half the square of how far it is from
// them.
class Follower : public Learner {
 public:
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return gradient_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& batch) override {
    gradient_ = {};
    for (const float sample : batch.inputs)
      gradient_[0] += (x_[0] - sample) / static_cast<float>(batch.inputs.size());
    return evaluate(batch);
  }
  Score evaluate(const Batch& batch) override {
    Score score{.loss_sum = 0, .correct = 0, .count = static_cast<std::int64_t>(batch.size())};
    for (const float sample : batch.inputs) score.loss_sum += (x_[0] - sample) * (x_[0] - sample) / 2;
    return score;
  }
  std::vector<TensorLayout> parameter_layout() const override { return {{"x", {1}, {1}, 0}}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  std::array<float, 1> x_{}, gradient_{};
};

// Sixty times the same number.
class Same : public Dataset {
 public:
  explicit Same(float number, std::int64_t label = 0, bool readable = true)
      : number_(number), label_(label), readable_(readable) {}
  std::size_t size() const override { return 60; }
  Shape shape() const override { return {1, 1, 1}; }
  int classes() const override { return 1; }
  std::int64_t label(std::size_t /*index*/) const override { return label_; }
  void read(std::size_t index, std::span<float> out) const override {
    if (!readable_ && index == 17) throw std::runtime_error("the tape is torn at sample 17");
    out[0] = number_;
  }

 private:
  const float number_;
  const std::int64_t label_;
  const bool readable_;
};

OwnModel follower() {
  return {.name = "follower", .keys = {real_key("weight", 1, "of nothing")}, .make = [](const ModelSpec&) {
            return std::make_unique<Follower>();
          }};
}

OwnDataset::Parts parts(float number, std::int64_t label = 0, bool readable = true) {
  return {.train = std::make_shared<Same>(number, label, readable), .test = std::make_shared<Same>(number)};
}

OwnDataset same_number() {
  return {.name = "same-number",
          .keys = {real_key("number", 1, "all samples")},
          .open = [](const Options& data, std::uint64_t) {
            return parts(static_cast<float>(data.get<double>("number")));
          }};
}

StrategyInfo strategy(const std::string& name,
                      std::function<std::unique_ptr<Strategy>(StrategyContext)> make) {
  StrategyInfo info;
  info.name = name;
  info.keys = {whole_key("every", 1, "steps between nothing")};
  info.make = std::move(make);
  return info;
}

StrategyInfo lonely() {
  return strategy("lonely", [](StrategyContext) { return std::make_unique<Strategy>(); });
}

class Registered : public Test {
 protected:
  // Once in a process: names stay registered.
  static void SetUpTestSuite() {
    register_model(follower());
    register_dataset(same_number());
    register_strategy(lonely());
  }

  static Config config(const std::vector<std::string>& more = {}) {
    Config config;
    for (const char* key :
         {"model.name=follower", "data.name=same-number", "strategy.name=lonely", "data.number=7",
          "cluster.nodes=2", "run.steps=400", "run.eval_every=100", "optimizer.name=sgd", "optimizer.lr=0.1"})
      config.set(key);
    for (const std::string& key : more) config.set(key);
    return config;
  }
  static std::string refused(const std::vector<std::string>& more) {
    return refusal([&] { config(more).resolve(); });
  }
  static RunResult train(const std::vector<std::string>& more = {}) {
    return veche::Run(config(more), {.keep = false}).wait();
  }
};

TEST_F(Registered, Trains) {
  const RunResult result = train();
  EXPECT_EQ(result.info.model, "follower");
  EXPECT_EQ(result.info.data, "same-number");
  EXPECT_EQ(result.info.strategy, "lonely");
  for (const auto& x : result.parameters) EXPECT_NEAR(x.front(), 7, 1e-4);
}

TEST_F(Registered, NamesAreTakenAndGivenOnce) {
  EXPECT_EQ(refusal([] { register_model(follower()); }),
            "a model 'follower' exists already: register yours under another name");
  EXPECT_EQ(refusal([] { register_dataset(same_number()); }),
            "a data set 'same-number' exists already: register yours under another name");
  EXPECT_EQ(refusal([] { register_strategy(lonely()); }),
            "a strategy 'lonely' exists already: register yours under another name");
  for (const char* built_in : {"resnet20", "wrn-40-2", "quadratic"}) {
    OwnModel model = follower();
    model.name = built_in;
    EXPECT_NE(refusal([&] { register_model(model); }).find("exists already"), std::string::npos) << built_in;
  }
  for (const char* built_in : {"synthetic", "cifar10"}) {
    OwnDataset set = same_number();
    set.name = built_in;
    EXPECT_NE(refusal([&] { register_dataset(set); }).find("exists already"), std::string::npos) << built_in;
  }
  StrategyInfo gossip = lonely();
  gossip.name = "gossip";
  EXPECT_NE(refusal([&] { register_strategy(gossip); }).find("exists already"), std::string::npos);
}

TEST_F(Registered, IncompleteOnesAreRefused) {
  OwnModel nameless = follower();
  nameless.name = "";
  EXPECT_EQ(refusal([&] { register_model(nameless); }), "a model cannot be registered without a name");
  EXPECT_EQ(refusal([] { register_model({.name = "hollow", .make = {}}); }),
            "the model 'hollow' cannot be registered without a function that makes one");
  EXPECT_EQ(refusal([] { register_dataset({.name = "hollow", .open = {}}); }),
            "the data set 'hollow' cannot be registered without a function that makes one");
  EXPECT_EQ(refusal([] { register_strategy(strategy("hollow", {})); }),
            "the strategy 'hollow' cannot be registered without a function that makes one");
}

TEST_F(Registered, TheNearestNameAndKeyAreTold) {
  EXPECT_EQ(refused({"model.name=folower"}),
            "model.name: there is no model 'folower'; did you mean 'follower'?");
  EXPECT_EQ(refused({"data.name=same-numbr"}),
            "data.name = \"same-numbr\" does not exist; did you mean 'same-number'?");
  EXPECT_EQ(refused({"strategy.name=lonley"}),
            "strategy.name = \"lonley\" does not exist; did you mean 'lonely'?");
  EXPECT_EQ(refused({"model.wieght=2"}), "there is no key model.wieght; did you mean 'model.weight'?");
  EXPECT_EQ(refused({"data.numbr=2"}), "there is no key data.numbr; did you mean 'data.number'?");
  EXPECT_EQ(refused({"strategy.evry=2"}), "there is no key strategy.evry; did you mean 'strategy.every'?");
  EXPECT_EQ(refused({"data.number=-1"}), "data.number must be at least 0, not -1");
  EXPECT_EQ(refused({"strategy.every=0.5"}), "strategy.every must be a whole number, not 0.5");
  // Keys belong to what they were registered with.
  EXPECT_NE(refused({"data.name=synthetic"}).find("there is no key data.number"), std::string::npos);
}

TEST_F(Registered, KeysOfTheSectionCannotBeTaken) {
  register_model({.name = "thief", .keys = {flag_key("name", true, "")}, .make = follower().make});
  EXPECT_EQ(refused({"model.name=thief"}),
            "'thief' was registered with a key 'name', which [model] has already: give it another name");
  StrategyInfo twice = lonely();
  twice.name = "twice";
  twice.keys.push_back(twice.keys.front());
  register_strategy(twice);
  EXPECT_EQ(refused({"strategy.name=twice"}),
            "'twice' was registered with a key 'every', which [strategy] has already: give it another name");
}

TEST_F(Registered, WhatTheyThrowComesOut) {
  register_model({.name = "unmade", .make = [](const ModelSpec&) -> std::unique_ptr<Learner> {
                    throw std::runtime_error("no clay");
                  }});
  register_model({.name = "nothing", .make = [](const ModelSpec&) { return std::unique_ptr<Learner>(); }});
  const auto set = [](const std::string& name, std::function<OwnDataset::Parts()> open) {
    register_dataset({.name = name, .open = [open](const Options&, std::uint64_t) { return open(); }});
  };
  set("shut", []() -> OwnDataset::Parts { throw RequestError("data.number = 0: the door is shut"); });
  set("torn", [] { return parts(1, 0, false); });
  set("mislabelled", [] { return parts(1, 3); });
  set("empty", [] { return OwnDataset::Parts{}; });
  set("misnamed", [] {
    OwnDataset::Parts named = parts(1);
    named.class_names = {"one", "two"};
    return named;
  });
  register_strategy(strategy("refuser", [](StrategyContext) -> std::unique_ptr<Strategy> {
    throw RequestError("strategy.every: not today");
  }));
  register_strategy(strategy("absent", [](StrategyContext) { return std::unique_ptr<Strategy>(); }));
  class Breaks : public Strategy {
    void after_step(std::uint64_t step) override {
      if (step == 20) throw std::runtime_error("broke in step 20");
    }
  };
  register_strategy(strategy("breaks", [](StrategyContext) { return std::make_unique<Breaks>(); }));

  const auto failure_of = [](const std::string& section, const std::string& name) {
    Config config = Registered::config();
    // The keys of another cannot be given.
    if (section == "data")
      config = Config::from_text("[data]\nname = 'x'\n[model]\nname = 'follower'\n[run]\nsteps = 40\n");
    config.set(section + ".name=" + name);
    try {
      veche::Run(config, {.keep = false}).wait();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("nothing failed");
  };
  EXPECT_EQ(failure_of("model", "unmade"), "no clay");
  EXPECT_EQ(failure_of("model", "nothing"),
            "model.name = \"nothing\": the program that registered it made no learner");
  EXPECT_EQ(failure_of("data", "shut"), "data.number = 0: the door is shut");
  EXPECT_EQ(failure_of("data", "torn"), "the tape is torn at sample 17");
  EXPECT_EQ(failure_of("data", "empty"),
            "data.name = \"empty\": the program that registered it gave no samples");
  EXPECT_EQ(failure_of("data", "misnamed"),
            "data.name = \"misnamed\": it has 1 classes and 2 names for them");
  EXPECT_EQ(
      failure_of("data", "mislabelled"),
      "data.name = \"mislabelled\": sample 0 of the training set has the label 3, which is none of its 1 "
      "classes, 0 and up");
  EXPECT_EQ(failure_of("strategy", "refuser"), "strategy.every: not today");
  EXPECT_EQ(failure_of("strategy", "absent"),
            "strategy.name = \"absent\": the program that registered it made none");
  EXPECT_EQ(failure_of("strategy", "breaks"), "broke in step 20");
}

TEST_F(Registered, RunsGoOnWhereTheyAreRegistered) {
  const testing::TemporaryFolder folder;
  veche::Run first(config({"run.out=" + folder.path().string(), "run.name=mine", "run.steps=100"}));
  const RunResult hundred = first.wait();
  Config longer = Config::from_file(hundred.info.folder / "config.toml");
  longer.set("run.steps=400");
  const RunResult resumed = veche::Run(longer, {.resume = hundred.info.folder}).wait();
  EXPECT_EQ(resumed.info.first_step, 100U);
  EXPECT_EQ(resumed.parameters, train().parameters);

  // As a program that has not registered it would read it.
  Config elsewhere = Config::from_file(hundred.info.folder / "config.toml");
  elsewhere.set("model.name=followed");
  EXPECT_EQ(refusal([&] { veche::Run(elsewhere, {.resume = hundred.info.folder}); }),
            "model.name: there is no model 'followed'; did you mean 'follower'?");
}

// Makes the loop's steps itself, by what the context gives it.
class OwnSteps : public Strategy {
 public:
  explicit OwnSteps(StrategyContext context)
      : context_(std::move(context)),
        optimizer_(context_.make_optimizer(0, context_.learner.parameters().size())) {}
  Gradient after_backward(std::uint64_t step) override {
    if (context_.samples.count(context_.me(), step) == 0) return Gradient::own;
    context_.limit_gradient();
    optimizer_->update(context_.learner.parameters(), context_.learner.gradients(),
                       {.rate = context_.learning_rate(step), .number = step + 1});
    return Gradient::used;
  }

 private:
  StrategyContext context_;
  const std::unique_ptr<Optimizer> optimizer_;
};

TEST_F(Registered, StrategiesHaveTheLoopsOptimizerAndSchedule) {
  register_strategy(strategy(
      "own-steps", [](StrategyContext context) { return std::make_unique<OwnSteps>(std::move(context)); }));
  const std::vector<std::string> keys{"optimizer.name=adam", "optimizer.schedule=cosine", "run.steps=37"};
  std::vector<std::string> own = keys;
  own.emplace_back("strategy.name=own-steps");
  EXPECT_EQ(train(own).parameters, train(keys).parameters);
}

// The mean of the gradients, weighted by samples, through the run's codec.
class CodedMean : public Strategy, public MeasuredStrategy {
 public:
  explicit CodedMean(StrategyContext context)
      : context_(std::move(context)), compressor_(context_), sum_(compressor_, context_.channel) {}
  Gradient after_backward(std::uint64_t step) override {
    scale(context_.learner.gradients(),
          static_cast<float>(context_.samples.share(context_.me(), context_.nodes(), step)));
    sum_.sum(context_.learner.gradients());
    return Gradient::shared;
  }
  Coding coding() const override { return compressor_.coding(); }

 private:
  StrategyContext context_;
  Compressor compressor_;
  CompressedSum sum_;
};

// The mean of the gradients by the algorithm that a key names, in two moments.
class OwnSum : public Strategy {
 public:
  explicit OwnSum(StrategyContext context)
      : context_(std::move(context)),
        algorithm_(all_reduce_named(context_.options.get<std::string>("algorithm"))) {}
  Gradient after_backward(std::uint64_t step) override {
    const std::span<float> gradient = context_.learner.gradients();
    scale(gradient, static_cast<float>(context_.samples.share(context_.me(), context_.nodes(), step)));
    begin_all_reduce(context_.channel, gradient, algorithm_);
    complete_all_reduce(context_.channel, gradient, algorithm_);
    return Gradient::shared;
  }

 private:
  StrategyContext context_;
  const AllReduceAlgorithm algorithm_;
};

TEST_F(Registered, StrategiesChooseTheAlgorithmOfASum) {
  StrategyInfo sums = strategy(
      "own-sum", [](StrategyContext context) { return std::make_unique<OwnSum>(std::move(context)); });
  sums.keys.push_back({.name = "algorithm",
                       .kind = KeySpec::Kind::text,
                       .fallback = Value{std::string("auto")},
                       .help = "how the nodes add up",
                       .choices = all_reduce_names()});
  register_strategy(sums);
  const auto trained = [](const std::string& name, const std::string& algorithm) {
    Config config = Config::from_text(
        "[model]\nname = 'quadratic'\na = [[1, 0.3], [0.7, 2], [0.1, 1], [0.9, 0.9]]\n"
        "b = [[0.1, 3], [-1, 0.7], [2, 2], [0.3, -5]]\n[run]\nsteps = 20\n[optimizer]\nname = 'sgd'\n");
    config.set("strategy.name=" + name);
    config.set("strategy.algorithm=" + algorithm);
    return veche::Run(config, {.keep = false}).wait().parameters;
  };
  for (const std::string& algorithm : all_reduce_names())
    EXPECT_EQ(trained("own-sum", algorithm), trained("allreduce", algorithm)) << algorithm;
  EXPECT_EQ(refusal([&] { trained("own-sum", "rign"); }),
            "strategy.algorithm = \"rign\" does not exist; did you mean 'ring'?");
}

TEST_F(Registered, StrategiesDeclareWhatTheyCan) {
  StrategyInfo declares = strategy(
      "declares", [](StrategyContext context) { return std::make_unique<CodedMean>(std::move(context)); });
  declares.coded.exchange = CodedExchange::gradients;
  declares.coded.refuses = [](const CodecRequest& request) -> std::optional<Refusal> {
    if (request.options.get<int>("every") == 1) return {};
    return Refusal{"it sums at every step", "leave out strategy.every"};
  };
  declares.refuses_grid = [](const Options& options) -> std::optional<Refusal> {
    if (options.get<int>("every") == 1) return {};
    return Refusal{"strategy.every", "leave it out"};
  };
  declares.refuses_pipeline = [](const Options&) {
    return std::optional(Refusal{"needs the whole gradient", "such as the one next door"});
  };
  register_strategy(declares);

  const auto refused_run = [](const std::vector<std::string>& more) { return refusal([&] { train(more); }); };
  const std::vector<std::string> coded{"strategy.name=declares", "compress.codec=fp16"};
  const RunResult result = train(coded);
  EXPECT_EQ(result.info.codec, "fp16");
  for (const auto& x : result.parameters) EXPECT_NEAR(x.front(), 7, 1e-2);
  for (const NodeReport& node : result.last.nodes) EXPECT_GT(node.coding.plain_bytes, 0U);
  std::vector<std::string> every = coded;
  every.emplace_back("strategy.every=2");
  EXPECT_EQ(refused_run(every),
            "compress.codec = \"fp16\" with strategy \"declares\": it sums at every step; leave out "
            "strategy.every");
  EXPECT_EQ(refused_run({"compress.codec=fp16"}),
            "compress.codec = \"fp16\" with strategy \"lonely\": this strategy does not declare what a codec "
            "would compress; leave out [compress], or choose strategy.name = \"consensus\"");

  const auto settings = [](const std::vector<std::string>& more) { return config(more).resolve(); };
  EXPECT_NO_THROW(check_for_views(settings({"strategy.name=declares"})));
  EXPECT_EQ(refusal([&] {
              check_for_views(settings({"strategy.name=declares", "strategy.every=2"}));
            }),
            "strategy.every cannot be used where members come and go; leave it out");
  EXPECT_EQ(
      refusal([&] {
        plan_pipeline(settings({"strategy.name=declares", "pipeline.stages=2", "cluster.nodes=4"}), {}, {});
      }),
      "strategy.name = \"declares\" needs the whole gradient: with pipeline.stages = 2 choose another, such "
      "as the one next door");
}

// The nodes 0, 1 and 2, 3 add up their numbers, and so do 0, 2 and 1, 3.
class SumsInGroups : public Strategy {
 public:
  explicit SumsInGroups(StrategyContext context)
      : context_(std::move(context)),
        row_(make_group(context_.channel.endpoint, {NodeId{me() / 2 * 2}, NodeId{me() / 2 * 2 + 1}})),
        column_(make_group(context_.channel.endpoint, {NodeId{me() % 2}, NodeId{me() % 2 + 2}})) {}
  void after_step(std::uint64_t /*step*/) override {
    const std::span<float> x = context_.learner.parameters();
    x[0] = 10 * sum_in(*row_, 0) + sum_in(*column_, 1);
  }

 private:
  int me() const { return context_.channel.me().value; }
  float sum_in(Endpoint& group, std::uint64_t which) {
    Channel channel = context_.channel.child(which, group);
    std::array<float, 1> number{static_cast<float>(me())};
    all_reduce(channel, number);
    return number[0];
  }

  StrategyContext context_;
  const std::unique_ptr<Endpoint> row_, column_;
};

TEST_F(Registered, StrategiesTalkInGroups) {
  register_strategy(strategy(
      "groups", [](StrategyContext context) { return std::make_unique<SumsInGroups>(std::move(context)); }));
  const RunResult result = train({"strategy.name=groups", "cluster.nodes=4", "run.steps=3"});
  std::vector<float> sums;
  for (const auto& x : result.parameters) sums.push_back(x.front());
  EXPECT_EQ(sums, (std::vector<float>{10 * 1 + 2, 10 * 1 + 4, 10 * 5 + 2, 10 * 5 + 4}));
}

// Counts every call that an asynchronous strategy may receive.
class Counts : public Strategy,
               public BeforeBackward,
               public InPlaceStep,
               public AsyncStrategy,
               public MeasuredStrategy {
 public:
  struct Calls {
    std::atomic<int> before = 0, target = 0, left = 0, looked = 0;
  };
  Counts(StrategyContext context, Calls& calls)
      : context_(std::move(context)), calls_(calls), target_(context_.learner.parameters().size()) {}
  void before_backward(std::uint64_t /*step*/) override { ++calls_.before; }
  std::span<float> step_target(std::uint64_t /*step*/) override {
    ++calls_.target;
    return target_;
  }
  void after_step(std::uint64_t /*step*/) override {
    std::ranges::copy(target_, context_.learner.parameters().begin());
    staleness_.note(1);
  }
  void leave() override { ++calls_.left; }
  void inspect(const std::function<void()>& look) override {
    ++calls_.looked;
    look();
  }
  Staleness staleness() const override { return staleness_; }

 private:
  StrategyContext context_;
  Calls& calls_;
  std::vector<float> target_;
  Staleness staleness_;
};

TEST_F(Registered, OptionalInterfacesAreFound) {
  static Counts::Calls calls;
  StrategyInfo info = strategy(
      "counts", [](StrategyContext context) { return std::make_unique<Counts>(std::move(context), calls); });
  info.pace = [](const Options&) { return Pace::async; };
  register_strategy(info);
  const testing::TemporaryFolder folder;
  const RunResult result = veche::Run(config({"strategy.name=counts", "run.steps=20", "cluster.work=equal",
                                              "run.out=" + folder.path().string()}))
                               .wait();
  EXPECT_EQ(calls.before, 2 * 20);
  EXPECT_EQ(calls.target, 2 * 20);
  EXPECT_EQ(calls.left, 2);
  EXPECT_GT(calls.looked, 0) << "the last checkpoint was saved at rest";
  for (const NodeReport& node : result.last.nodes) EXPECT_EQ(node.staleness.count, 20U);
}

}  // namespace
}  // namespace veche
