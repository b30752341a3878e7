#include "veche/comm/failure.h"

#include <gtest/gtest.h>

#include <vector>

#include "veche/errors.h"

namespace veche {
namespace {

std::optional<Failure> among(const std::vector<std::string>& brought) {
  return common_failure(brought, [](int rank) { return "rank " + std::to_string(rank); });
}

TEST(Failure, TextsAreNone) {
  EXPECT_FALSE(among({as_text(""), as_text("1 looks like a failure")}));
  EXPECT_EQ(text_of(as_text("1 looks like a failure")), "1 looks like a failure");
}

TEST(Failure, TheCauseIsToldBeforeTheConsequence) {
  const auto failure = among({as_failure(Failure::of(PeerLost(NodeId{2}, "is gone"))), as_text("fine"),
                              as_failure(Failure::of(RunError("the disk is full")))});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sentence, "rank 2: the disk is full");
  EXPECT_EQ(failure->exit_code(), 1);
  EXPECT_THROW(failure->raise(), RunError);
}

TEST(Failure, AWrongRequestStaysOne) {
  const auto failure =
      among({as_failure(Failure::of(RunError("x"))), as_failure(Failure::of(RequestError("no such key")))});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sentence, "rank 1: no such key");
  EXPECT_EQ(failure->exit_code(), 2);
  EXPECT_THROW(failure->raise(), RequestError);
}

TEST(Failure, NobodyIsNamedWhenAllFailedAlike) {
  const std::string each = as_failure(Failure::of(RequestError("no such key")));
  EXPECT_EQ(among({each, each})->sentence, "no such key");
}

TEST(Failure, WhoEndsAloneIsNamed) {
  EXPECT_EQ(among({as_text("x"), as_end()})->sentence, "rank 1 has ended before the others");
  EXPECT_FALSE(among({as_end(), as_end()}));
  EXPECT_EQ(among({as_end(), as_failure(Failure::of(RunError("x")))})->sentence, "rank 1: x");
}

}  // namespace
}  // namespace veche
