// A newcomer fetches the state of members that keep training; some of them die, send wrong data or
// answer slowly.
#include "veche/train/views/catch_up.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/support/views.h"

namespace veche {
namespace {

constexpr std::size_t kLarge = 700'000;  // three chunks per vector

class LargeLearner : public testing::MembersLearner {
 public:
  LargeLearner() : MembersLearner(0), x_(kLarge), g_(kLarge) {}
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }

 private:
  std::vector<float> x_, g_;
};

MemberState make_self() {
  Config config = Config::from_text("[model]\nname = \"quadratic\"\n");
  config.set("strategy.name=allreduce");
  config.set("optimizer.name=sgd");
  config.set("optimizer.momentum=0.9");
  config.set("run.steps=100");
  config.set("cluster.nodes=2");
  const RunPlan plan(config.resolve(), NodeFolders{}, NodesInView{});
  return {std::make_unique<LargeLearner>(), plan.training};
}

// A trained member that continues on request.
struct Trainer {
  // If the strategy has shared state: every third step is a round that changes it equally on all.
  void step_of_own() {
    const bool round = self.step % 3 == 2;
    const auto n = static_cast<float>(self.step + 1);
    self.learner->parameters()[self.step] += name + n;
    if (round) self.common[0][self.step] = self.common[1][7] = n;
    if (round) std::ranges::copy(self.common[0], self.learner->parameters().begin());
    if (donor.follows()) donor.made(self, round);
    ++self.step;
    if (donor.due(self.step, Time(static_cast<double>(self.step)))) donor.take(self);
  }
  void step() {
    if (!self.common.empty()) return step_of_own();
    const std::uint64_t sparse = self.step % 3 == 0 ? 1 : 30;  // one nonzero number in this many
    std::vector<float> gradient(kLarge);
    for (std::size_t i = 0; i < kLarge; i += sparse)
      gradient[i] = static_cast<float>((7 * i + 13 * self.step) % 101) / 100 - 0.5F;
    constexpr double kRate = 0.1, kScale = 0.7;
    if (donor.follows()) donor.made(self.step, gradient, kRate, kScale);
    self.optimizer->update(self.learner->parameters(), gradient,
                           {.rate = kRate, .gradient_scale = kScale, .number = self.step + 1});
    ++self.step;
    if (donor.due(self.step, Time(static_cast<double>(self.step)))) donor.take(self);
  }
  MemberState self = make_self();
  StateDonor donor;
  float name = 0;
  int answers_left = 1 << 30;  // then it is gone
  bool lies = false;           // in pieces
  bool lies_in_steps = false;
};

class Trainers : public testing::DonorsHere {
 public:
  explicit Trainers(std::size_t count, bool common = false) : all(count) {
    float name = 0;
    for (Trainer& one : all) {
      one.name = ++name;
      if (common) one.self.common.assign(2, std::vector<float>(kLarge));
    }
    for (int step = 0; step < 3; ++step) go_on();
  }
  void go_on() {
    for (Trainer& one : all) one.step();
  }

  std::size_t count() override { return all.size(); }
  void ask(std::size_t donor, std::uint64_t id, const std::string& name, std::uint64_t offset,
           std::uint32_t length) override {
    Trainer& one = all[donor];
    std::optional<Message> answer;
    if (one.answers_left-- > 0) answer = one.donor.answer(name, offset, length);
    if (answer && one.lies && name.starts_with("piece/"))
      answer->writable<std::byte>()[answer->size() / 2] ^= std::byte{1};
    if (answer && one.lies_in_steps && name.starts_with("gradient/"))
      answer->writable<std::byte>()[answer->size() / 2] ^= std::byte{1};
    pieces += answer && name.starts_with("piece/") ? 1 : 0;
    answered({id, std::move(answer)});
    // They keep training meanwhile, and finally stop.
    if (++asked_ % 4 == 0 && made_meanwhile < 5) {
      go_on();
      ++made_meanwhile;
    }
  }
  bool pause() override {
    go_on();
    return true;
  }

  std::deque<Trainer> all;
  int made_meanwhile = 0;
  std::size_t pieces = 0;  // chunks sent

 private:
  int asked_ = 0;
};

TEST(CatchUp, IsWhereTheOthersAre) {
  Trainers trainers(3);
  MemberState newcomer = make_self();
  newcomer.has_state = false;
  const CaughtUp caught = catch_up(newcomer, trainers, Shared::models);
  EXPECT_TRUE(caught.done);
  EXPECT_EQ(caught.donors, 3);
  EXPECT_EQ(caught.of, 6);
  EXPECT_GT(newcomer.step, caught.copied);
  EXPECT_EQ(newcomer.step, trainers.all[0].self.step);
  EXPECT_EQ(state_hash(newcomer), state_hash(trainers.all[0].self));
  // A member that returns at once with its state requests only what it lacks.
  const std::size_t before = trainers.pieces;
  const CaughtUp again = catch_up(newcomer, trainers, Shared::nothing);
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.pieces, trainers.pieces - before);
}

// Models are private; the strategy's shared state must be equal.
TEST(CatchUp, HasWhatTheOthersHaveInCommon) {
  Trainers trainers(2, true);
  MemberState newcomer = make_self();
  newcomer.has_state = false;
  const CaughtUp caught = catch_up(newcomer, trainers, Shared::common);
  EXPECT_TRUE(caught.done);
  EXPECT_EQ(caught.donors, 1);
  EXPECT_GT(newcomer.step, caught.copied + 3);  // at least a round
  EXPECT_EQ(newcomer.step, trainers.all[0].self.step);
  EXPECT_EQ(newcomer.common, trainers.all[0].self.common);
  EXPECT_EQ(newcomer.common, trainers.all[1].self.common);
  EXPECT_EQ(state_hash(newcomer), state_hash(trainers.all[1].self));
}

TEST(CatchUp, GoesOnWithTheOthersWhenADonorDies) {
  for (int answers = 0; answers < 14; ++answers) {
    SCOPED_TRACE(answers);
    Trainers trainers(3);
    trainers.all[0].answers_left = answers;
    MemberState newcomer = make_self();
    newcomer.has_state = false;
    const CaughtUp caught = catch_up(newcomer, trainers, Shared::models);
    EXPECT_TRUE(caught.done);
    EXPECT_EQ(newcomer.step, trainers.all[1].self.step);
    EXPECT_EQ(state_hash(newcomer), state_hash(trainers.all[1].self));
  }
}

TEST(CatchUp, BelievesNoPieceThatIsDamaged) {
  Trainers trainers(2);
  trainers.all[1].lies = true;
  MemberState newcomer = make_self();
  EXPECT_TRUE(catch_up(newcomer, trainers, Shared::models).done);
  EXPECT_EQ(state_hash(newcomer), state_hash(trainers.all[0].self));
}

TEST(CatchUp, ReplaysNoStepThatIsDamaged) {
  Trainers trainers(2);
  for (Trainer& one : trainers.all) one.lies_in_steps = true;
  MemberState newcomer = make_self();
  EXPECT_FALSE(catch_up(newcomer, trainers, Shared::models).done);
  // It has a copy of the state at some step, and no step after it.
  Trainers same(2);
  while (same.all[0].self.step < newcomer.step) same.go_on();
  EXPECT_EQ(state_hash(newcomer), state_hash(same.all[0].self));
}

TEST(CatchUp, KeepsWhatItHadWhenNobodyLends) {
  Trainers trainers(2);
  for (Trainer& one : trainers.all) one.answers_left = 5;
  MemberState newcomer = make_self();
  newcomer.has_state = false;
  const std::uint64_t before = state_hash(newcomer);
  EXPECT_FALSE(catch_up(newcomer, trainers, Shared::models).done);
  EXPECT_FALSE(newcomer.has_state);
  EXPECT_EQ(state_hash(newcomer), before);
}

TEST(StateDonor, CodesAGradientToTheBit) {
  for (const std::size_t every : {1, 3, 4, 5, 1000, 1 << 30}) {
    std::vector<float> gradient(10'000);
    for (std::size_t i = 0; i < gradient.size(); i += every) gradient[i] = i % 2 == 0 ? -0.0F : 0.1F;
    const std::vector<std::byte> code = coded_gradient(gradient);
    EXPECT_LE(code.size(), gradient.size() * sizeof(float));
    if (every > 100) {
      EXPECT_LT(code.size(), 100U);
    }
  }
  MemberState self = make_self();
  const auto half_a_number = std::vector<std::byte>(7), behind_the_end = std::vector(8, std::byte{0xff});
  EXPECT_FALSE(repeat_step(self, {.rate = 0.1, .bytes = half_a_number}));
  EXPECT_FALSE(repeat_step(self, {.rate = 0.1, .bytes = behind_the_end}));
  EXPECT_FALSE(repeat_step(self, {.by = StepUpdate::By::result, .bytes = half_a_number}));
  EXPECT_FALSE(repeat_step(self, {.by = StepUpdate::By::nothing, .steps = 0}));
  EXPECT_EQ(self.step, 0);
}

TEST(StateDonor, KeepsNothingWhileNobodyAsks) {
  Trainers trainers(1);
  Trainer& one = trainers.all[0];
  EXPECT_FALSE(one.donor.follows());
  EXPECT_FALSE(one.donor.answer("update/1", 0, 0));
  EXPECT_TRUE(one.donor.answer("copy/5", 0, 0));
  for (int step = 0; step < 4; ++step) one.step();
  EXPECT_TRUE(one.donor.follows());
  EXPECT_TRUE(one.donor.answer("manifest/5", 0, 0));
  for (int step = 0; step < 30; ++step) one.step();  // a second each
  EXPECT_FALSE(one.donor.follows());
  EXPECT_FALSE(one.donor.answer("manifest/5", 0, 0));
}

TEST(StateRequest, HasAName) {
  using What = StateRequest::What;
  for (const auto& [request, name] :
       std::vector<std::pair<StateRequest, std::string>>{{{What::step}, "step"},
                                                         {{What::end}, "end"},
                                                         {{What::copy, 7}, "copy/7"},
                                                         {{What::manifest, 7}, "manifest/7"},
                                                         {{What::piece, 7, 3}, "piece/7/3"},
                                                         {{What::update, 8}, "update/8"},
                                                         {{What::gradient, 8, 2}, "gradient/8"}}) {
    EXPECT_EQ(name_of(request), name);
    EXPECT_EQ(request_named(name, offset_of(request)), request);
  }
  EXPECT_EQ(offset_of({What::gradient, 8, 2}), 2U << 20);
}

TEST(StateDonor, AnswersOddQuestionsWithNothing) {
  Trainers trainers(1);
  StateDonor& donor = trainers.all[0].donor;
  for (const char* name : {"",
                           "/",
                           "piece",
                           "piece/",
                           "piece//",
                           "piece/1/2/3",
                           "piece/x/1",
                           "manifest/-1",
                           "copy/1",
                           "gradient/99999999999999999999999",
                           "update/0",
                           "nothing/1",
                           "piece/18446744073709551615/0",
                           "piece/ 1/1",
                           "piece/+1/1",
                           "manifest/18446744073709551615",
                           "copy/1/",
                           "steps",
                           "step/1",
                           "done"})
    EXPECT_FALSE(donor.answer(name, 0, 100)) << name;
}

}  // namespace
}  // namespace veche
