// Feeds the corpus to the fuzz targets, so that old findings stay fixed, also without a fuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

namespace veche::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, IsTakenOrRefused) {
  const fs::path folder = fs::path(VECHE_FUZZ_CORPUS) / GetParam().name;
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::vector<std::uint8_t> bytes = content(entry.path());
    GetParam().run(bytes);
    // Each file also truncated, and with a byte changed, at some positions.
    const std::size_t step = std::max<std::size_t>(1, bytes.size() / 64);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      GetParam().run(std::span(bytes).first(at));
      std::vector<std::uint8_t> changed = bytes;
      changed[at] ^= 0xff;
      GetParam().run(changed);
    }
    ++files;
  }
  EXPECT_GE(files, 2u) << "no corpus in " << folder;
}

INSTANTIATE_TEST_SUITE_P(Every, Corpus, ::testing::ValuesIn(VECHE_FUZZ_TARGETS),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace veche::fuzz
