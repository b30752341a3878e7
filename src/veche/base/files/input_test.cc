// Tests of the checks between untrusted text and a parser.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"
#include "veche/base/files/input_file.h"
#include "veche/base/files/read_text.h"
#include "veche/base/machine/memory.h"
#include "veche/base/text/nesting.h"
#include "veche/base/text/utf8.h"
#include "veche/errors.h"

namespace veche {
namespace {

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string refusal(const auto& work) {
  try {
    work();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(Utf8, KnowsTheLengthOfASign) {
  EXPECT_EQ(utf8_length("a"), 1);
  EXPECT_EQ(utf8_length("\xc3\xa9x"), 2);         // e with an acute accent
  EXPECT_EQ(utf8_length("\xe2\x96\x88"), 3);      // a full block
  EXPECT_EQ(utf8_length("\xf0\x9f\x82\xa1"), 4);  // the ace of spades
  for (const char* none :
       {"\x80", "\xc0\x80", "\xc3", "\xc3(", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_EQ(utf8_length(none), 0) << none;
}

TEST(Nesting, OfJson) {
  EXPECT_NO_THROW(check_json_nesting(times(kMostNesting, "[") + times(kMostNesting, "]") + "[{}]"));
  EXPECT_EQ(refusal([] { check_json_nesting("{\n" + times(kMostNesting, "[")); }),
            "line 2: brackets are nested more than 64 deep");
  EXPECT_NO_THROW(check_json_nesting("[\"" + times(1000, "[\\\"") + "\"]"));  // inside a string
}

TEST(Nesting, OfToml) {
  EXPECT_NO_THROW(check_toml_nesting("a.b = [[1.5, 2.5], ['[[[']] # " + times(1000, "[.")));
  EXPECT_NO_THROW(
      check_toml_nesting("a = '''" + times(1000, "[\n.") + "''''\nb = \"" + times(1000, ".\\\"[") + "\"\n"));
  EXPECT_EQ(refusal([] { check_toml_nesting("a = 1\n" + times(kMostNesting, "b.") + "c = 1\n"); }),
            "line 2: a key has more than 64 parts");
  EXPECT_NE(refusal([] { check_toml_nesting("[" + times(kMostNesting, "\"b\".") + "c]\n"); }), "");
  EXPECT_NE(refusal([] { check_toml_nesting("a = '''x''''\n" + times(1000, "b.") + "c = 1"); }), "");
  EXPECT_NE(refusal([] { check_toml_nesting("a = \"\"\"x\\\"\"\"\"\n" + times(1000, "b.") + "c = 1"); }), "");
  EXPECT_NE(refusal([] { check_toml_nesting("# '''\n" + times(1000, "b.") + "c = 1"); }), "");
  EXPECT_NE(refusal([] { check_toml_nesting("a = " + times(1000, "{a = ")); }), "");
}

TEST(ReadText, TakesFilesOnly) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.write("file", "text");
  EXPECT_EQ(read_text(file, "x", 4), "text");
  EXPECT_EQ(refusal([&] { read_text(file, "the file", 3); }),
            "the file cannot be read: it has more than 3 bytes");
  EXPECT_EQ(refusal([&] { read_text(file.parent_path(), "it", 9); }), "it cannot be read: it is a folder");
  EXPECT_EQ(refusal([&] { read_text("/dev/zero", "it", 9); }),
            "it cannot be read: it is a device or a pipe, not a file");
  EXPECT_EQ(refusal([&] { read_text(file / "below", "it", 9); }), "it cannot be read: Not a directory");
  const std::filesystem::path pipe = file.parent_path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal([&] { read_text(pipe, "it", 9); }), "");         // and does not wait for a writer
  EXPECT_GT(read_text("/proc/self/maps", "it", 1 << 20).size(), 0);  // the kernel reports no size for it
}

TEST(InputFile, ReadsFromAnyPlace) {
  const testing::TemporaryFolder folder;
  const InputFile file(folder.write("file", "some text"));
  std::string text(9, '.');
  const auto read = [&](std::uintmax_t offset) {
    return file.read(offset, std::as_writable_bytes(std::span(text)));
  };
  EXPECT_EQ(file.size(), 9U);
  EXPECT_EQ(read(0), 9U);
  EXPECT_EQ(text, "some text");
  EXPECT_EQ(read(5), 4U) << "the file ends there";
  EXPECT_EQ(text, "text text");
  EXPECT_EQ(read(9), 0U);
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { const InputFile waits(pipe); }),
            pipe.string() + " cannot be read: it is a device or a pipe, not a file");
}

TEST(Memory, OfThisMachine) {
  EXPECT_GT(available_memory(), 1 << 20);
  EXPECT_NO_THROW(check_memory(1000, "it", "nothing"));
  const std::string sentence = refusal([] { check_memory(1e18, "a thing", "lower it"); });
  EXPECT_TRUE(sentence.starts_with("a thing needs 1e+06 TB of memory, and ")) << sentence;
  EXPECT_TRUE(sentence.ends_with(": lower it")) << sentence;
}

}  // namespace
}  // namespace veche
