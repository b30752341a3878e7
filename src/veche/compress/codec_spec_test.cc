#include "veche/compress/codec_spec.h"

#include <gtest/gtest.h>

#include "veche/errors.h"

namespace veche {
namespace {

std::string refusal(const std::string& word) {
  try {
    parse_codec("compress.codec", word);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "taken";
}

TEST(CodecSpec, WordsAreTakenAndWrittenAgain) {
  for (const char* word : {"none", "fp16", "bf16", "int8", "qsgd:16", "sign", "threshold:0.001", "topk:0.01",
                           "randomk:0.1", "dgc:0.001", "powersgd:2", "powergossip:1"})
    EXPECT_EQ(parse_codec("compress.codec", word).word(), word);
  EXPECT_EQ(codec_help().size(), 12u);
  for (const CodecHelp& help : codec_help()) EXPECT_FALSE(help.rule.empty());
}

TEST(CodecSpec, WrongWordsAreAnsweredWithTheNearest) {
  EXPECT_EQ(refusal("topkk:0.1"), "compress.codec: there is no codec 'topkk'; did you mean 'topk'?");
  EXPECT_EQ(refusal("topk"), "compress.codec: 'topk' must be topk:F, F a number from 1e-06 to 1");
  EXPECT_EQ(refusal("qsgd:2.5"),
            "compress.codec: 'qsgd:2.5' must be qsgd:LEVELS, LEVELS a whole number from 1 to 127");
  EXPECT_EQ(refusal("sign:3"), "compress.codec: 'sign' takes no parameter, not ':3'");
  for (const char* word :
       {"", "topk:", "topk:0", "topk:1.1", "topk:nan", "topk:inf", "topk:-1", "topk:0.1x", "topk:0.1:2",
        "qsgd:0", "qsgd:128", "powersgd:0", "powersgd:1e9", "threshold:0", "threshold:-1", "fp16:", ":"})
    EXPECT_NE(refusal(word), "taken") << word;
}

TEST(CodecSpec, PackedFloatsAreACode) {
  CodecSpec spec;
  EXPECT_TRUE(spec.nothing());
  spec.zstd = true;
  EXPECT_FALSE(spec.nothing());
}

TEST(CodecSpec, WhatCanBeSummedIsNotPacked) {
  for (const char* word : {"fp16", "bf16", "randomk:0.1", "powersgd:2"}) {
    CodecSpec spec = parse_codec("compress.codec", word);
    EXPECT_NE(spec.sum(), CodecSpec::Sum::no);
    spec.zstd = true;
    EXPECT_EQ(spec.sum(), CodecSpec::Sum::no);
  }
  EXPECT_EQ(parse_codec("k", "topk:0.1").sum(), CodecSpec::Sum::no);
}

TEST(CodecSpec, GammaLiesBetweenZeroAndOne) {
  EXPECT_DOUBLE_EQ(parse_codec("k", "topk:0.01").gamma(), 0.0375);  // published with CHOCO-SGD
  for (const char* word : {"none", "fp16", "bf16", "int8", "qsgd:1", "qsgd:127", "sign", "threshold:1",
                           "topk:1", "topk:0.0001", "randomk:1", "powersgd:1"}) {
    EXPECT_GT(parse_codec("k", word).gamma(), 0);
    EXPECT_LE(parse_codec("k", word).gamma(), 1);
  }
}

}  // namespace
}  // namespace veche
