#include "veche/runtime/run/vocabulary_agreement.h"

#include <gtest/gtest.h>

namespace veche {
namespace {

std::string text_of(const std::optional<Message>& message) {
  if (!message) return "nothing";
  const auto text = message->as<char>();
  return {text.begin(), text.end()};
}

TEST(SharedVocabulary, IsTheUnionOfWhatAllMembersTell) {
  SharedVocabulary shared("xab");
  for (const std::string& request : vocabulary_requests("m1", "bc\xc3\xa9 \n"))
    EXPECT_EQ(text_of(shared.answer(request)), "");
  EXPECT_EQ(shared.members(), 1u);
  EXPECT_EQ(text_of(shared.answer(vocabulary_requests("m1", "b").back())), "");
  EXPECT_EQ(shared.members(), 1u);  // the same again
  shared.answer(vocabulary_requests("m2", "z").back());
  EXPECT_EQ(shared.members(), 2u);
  EXPECT_EQ(shared.fix(), "\n abcxz\xc3\xa9");
  // Too late: the union stays.
  EXPECT_EQ(text_of(shared.answer(vocabulary_requests("m3", "Q").back())), "\n abcxz\xc3\xa9");
  EXPECT_EQ(shared.fix(), "\n abcxz\xc3\xa9");
}

TEST(SharedVocabulary, ComesInSeveralRequestsIfItIsLarge) {
  std::string symbols;
  for (int code = 0x4e00; code < 0x4e00 + 3000; ++code)
    symbols += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
                static_cast<char>(0x80 | (code & 0x3f))};
  const auto requests = vocabulary_requests("m", symbols);
  EXPECT_GT(requests.size(), 2u);
  SharedVocabulary shared("a");
  for (const std::string& request : requests) {
    EXPECT_LE(request.size(), 4096u);
    EXPECT_EQ(shared.members(), 0u);
    shared.answer(request);
  }
  EXPECT_EQ(shared.members(), 1u);
  EXPECT_EQ(shared.fix(), "a" + symbols);
}

TEST(SharedVocabulary, AnswersNoOtherRequests) {
  SharedVocabulary shared("a");
  for (const char* request :
       {"end", "vocabulary", "vocabulary x", "vocabulary x all", "vocabulary x all \xff"})
    EXPECT_EQ(text_of(shared.answer(request)), "nothing") << request;
  EXPECT_EQ(shared.members(), 0u);
}

}  // namespace
}  // namespace veche
