#include "veche/base/module/module.h"

#include <gtest/gtest.h>

#include "veche/errors.h"

namespace veche {
namespace {

TEST(Module, AMissingOneIsOneClearSentence) {
  try {
    module_symbol({"veche_teapots.so", "teapots", "libtea-dev"}, "pour");
    FAIL() << "a module that does not exist was loaded";
  } catch (const RequestError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("no teapots"), std::string::npos) << text;
    EXPECT_NE(text.find("install the Debian package libtea-dev and rebuild"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

// The file exists, but the loader rejects it.
TEST(Module, ABrokenOneSaysWhatToInstall) {
  try {
    module_symbol({"/dev/null", "teapots", "libtea-dev"}, "pour");
    FAIL() << "an empty file was loaded";
  } catch (const RequestError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("teapots cannot be loaded"), std::string::npos) << text;
    EXPECT_NE(text.find("libtea-dev"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace veche
