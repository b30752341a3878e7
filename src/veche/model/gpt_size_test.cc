#include "veche/model/gpt_size.h"

#include <gtest/gtest.h>

#include "veche/errors.h"

namespace veche {
namespace {

ModelSettings named(const std::string& name) {
  ModelSettings settings;
  settings.name = name;
  return settings;
}

std::string refusal(const ModelSettings& settings) {
  try {
    gpt_size(settings);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(GptSize, HasThePublishedSizes) {
  EXPECT_EQ(gpt_size(named("gpt-nano")), (GptSize{4, 4, 128, 64, false, true}));
  EXPECT_EQ(gpt_size(named("gpt-mini")), (GptSize{6, 6, 384, 256, false, true}));
  EXPECT_EQ(gpt_size(named("gpt2")), (GptSize{12, 12, 768, 1024, true, true}));
  EXPECT_EQ(gpt_size(named("cnn")), std::nullopt);
}

TEST(GptSize, FollowsTheKeys) {
  ModelSettings settings = named("gpt");
  settings.layers = 2;
  settings.heads = 3;
  settings.width = 48;
  settings.context = 32;
  settings.bias = true;
  settings.tied = false;
  EXPECT_EQ(gpt_size(settings), (GptSize{2, 3, 48, 32, true, false}));
}

TEST(GptSize, RefusesHeadsThatDoNotDivideTheWidth) {
  ModelSettings settings = named("gpt-nano");
  settings.heads = 5;
  EXPECT_EQ(refusal(settings), "model.heads: 5 heads do not divide a width of 128; choose model.width = 130");
  settings.heads = 0;
  EXPECT_EQ(refusal(settings), "model.heads must be at least 1");
}

}  // namespace
}  // namespace veche
