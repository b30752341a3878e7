// Texts as data: data.name = "text".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/support/data_sets.h"
#include "tests/support/temporary_folder.h"
#include "veche/data/division/node_folders.h"
#include "veche/data/division/partition.h"
#include "veche/data/sets/source.h"
#include "veche/data/text/characters.h"
#include "veche/data/text/text_reader.h"
#include "veche/data/text/text_set.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using veche::testing::refusal;
using veche::testing::TemporaryFolder;

// Lines of words, so that a vocabulary of subwords has something to learn.
std::string rhyme(int lines) {
  const std::vector<std::string> words{"the",    "night", "light", "was",
                                       "bright", "and",   "white", "\xc3\xa9t\xc3\xa9"};
  std::string text;
  for (int line = 0; line < lines; ++line) {
    for (int i = 0; i < 6; ++i)
      text += (i == 0 ? "" : " ") + words[static_cast<std::size_t>((line * 7 + i * i * 3) % 8)];
    text += line % 5 == 0 ? ".\n\n" : ",\n";
  }
  return text;
}

class Texts : public ::testing::Test {
 protected:
  DataSettings settings(const std::string& path, const std::string& tokenizer = "characters") const {
    DataSettings settings;
    settings.name = "text";
    settings.path = {(folder.path() / path).string()};
    settings.tokenizer = tokenizer;
    settings.folder = (folder.path() / "data").string();
    return settings;
  }
  DataSource open(const DataSettings& settings, int context = 8) const {
    return open_data(settings, 1, {.context = context});
  }
  std::vector<fs::path> packed() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder.path() / "data" / "packed"))
      files.push_back(entry.path());
    return files;
  }
  const TemporaryFolder folder;
};

std::vector<std::int32_t> window(const Dataset& data, std::size_t index) {
  std::vector<std::int32_t> ids(data.shape().size() + 1);
  data.tokens()->read_tokens(index, ids);
  return ids;
}

// The text that the windows hold, each token once.
std::string text_of(const Dataset& data, const Tokenizer& tokenizer) {
  std::string text;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto ids = window(data, i);
    for (std::size_t k = i == 0 ? 0 : 1; k < ids.size(); ++k) text += tokenizer.decode(ids[k]);
  }
  return text;
}

TEST_F(Texts, TheFirstNineTenthsAreForTrainingAndWindowsFollowEachOther) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i * i % 23);
  folder.write("a.txt", text);
  const DataSource source = open(settings("a.txt"));
  EXPECT_EQ(source.name, "a.txt");
  EXPECT_EQ(source.train->task(), Task::language);
  EXPECT_EQ(source.train->shape(), (Shape{8, 1, 1}));
  EXPECT_EQ(source.train->size(), 112u);  // (900 - 1) / 8
  EXPECT_EQ(source.test->size(), 12u);    // (100 - 1) / 8
  EXPECT_EQ(text_of(*source.train, *source.tokenizer), text.substr(0, 112 * 8 + 1));
  EXPECT_EQ(text_of(*source.test, *source.tokenizer), text.substr(900, 12 * 8 + 1));
  EXPECT_EQ(source.train->tokens()->characters_per_token(), 1);
  const std::set<char> characters(text.begin(), text.end());
  EXPECT_EQ(source.train->classes(), static_cast<int>(characters.size()));
  EXPECT_EQ(source.tokenizer->content(), std::string(characters.begin(), characters.end()));
}

// The fraction moves a window over the text; the last one stays inside.
TEST_F(Texts, WindowsMoveForTraining) {
  std::string text;
  for (int i = 0; i < 120; ++i) text += static_cast<char>(i);
  folder.write("a.txt", text);
  const DataSource source = open(settings("a.txt", "bytes"), 10);
  ASSERT_EQ(source.train->size(), 10u);  // (108 - 1) / 10
  const auto begin = [&](std::size_t index, double by) {
    std::vector<std::int32_t> ids(11);
    source.train->tokens()->read_moved(index, by, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], ids[0] + static_cast<std::int32_t>(i));
    return ids[0];
  };
  EXPECT_EQ(begin(0, 0), 0);
  EXPECT_EQ(begin(3, 0.5), 35);
  EXPECT_EQ(begin(9, 0.65), 96);
  EXPECT_EQ(begin(9, 0.75), 97);
  EXPECT_EQ(begin(9, 0.99), 97);  // 97 + 11 tokens are all
}

TEST_F(Texts, EveryTokenizerGivesTheTextBack) {
  const std::string text = rhyme(400);
  folder.write("a.txt", text);
  for (const std::string word : {"characters", "bytes", "sentencepiece:train:60"}) {
    const DataSource source = open(settings("a.txt", word), 1);
    // Byte tokens may divide a character between the two texts.
    const std::string both =
        text_of(*source.train, *source.tokenizer) + text_of(*source.test, *source.tokenizer);
    EXPECT_EQ(both, text) << word;
    const auto again = unpack_tokenizer(packed_tokenizer(*source.tokenizer));
    std::vector<std::int32_t> a, b;
    EXPECT_FALSE(source.tokenizer->encode(text, a));
    EXPECT_FALSE(again->encode(text, b));
    EXPECT_EQ(a, b);
    const double expected =
        word == "bytes" ? 1.0 : static_cast<double>(count_characters(text)) / static_cast<double>(a.size());
    EXPECT_NEAR(source.train->tokens()->characters_per_token(), expected, 0.02) << word;
  }
}

TEST_F(Texts, AModelFileOfSentencePieceIsATokenizer) {
  folder.write("a.txt", rhyme(400));
  const DataSource learnt = open(settings("a.txt", "sentencepiece:train:60"));
  folder.write("words.model", learnt.tokenizer->content());
  folder.write("no.model", std::string("hello"));
  const DataSource read =
      open(settings("a.txt", "sentencepiece:" + (folder.path() / "words.model").string()));
  ASSERT_EQ(read.train->size(), learnt.train->size());
  for (std::size_t i = 0; i < read.train->size(); ++i)
    ASSERT_EQ(window(*read.train, i), window(*learnt.train, i));
  const std::string no = (folder.path() / "no.model").string();
  EXPECT_NE(refusal([&] { open(settings("a.txt", "sentencepiece:" + no)); }).find("no.model' cannot be used"),
            std::string::npos);
  EXPECT_NE(refusal([&] { open(settings("a.txt", "sentencepiece:" + no + "x")); }).find("no.modelx"),
            std::string::npos);
}

TEST_F(Texts, PackedFilesAndFoldersAreTheSameText) {
  const std::string text = rhyme(300);
  folder.write("plain.txt", text);
  folder.write("folder/one/a.txt", text);
  folder.write("folder/.hidden", std::string("\xff"));
  const std::string at = "cd '" + folder.path().string() + "' && ";
  ASSERT_EQ(
      std::system((at + "gzip -k plain.txt && zstd -q plain.txt && head -c 200 plain.txt.gz > cut.gz && "
                        "head -c 100 plain.txt.zst > cut.zst")
                      .c_str()),
      0);
  const DataSource plain = open(settings("plain.txt"));
  for (const char* path : {"plain.txt.gz", "plain.txt.zst", "folder"}) {
    const DataSource other = open(settings(path));
    ASSERT_EQ(other.train->size(), plain.train->size()) << path;
    EXPECT_EQ(text_of(*other.train, *other.tokenizer), text_of(*plain.train, *plain.tokenizer));
  }
  for (const char* path : {"cut.gz", "cut.zst"})
    EXPECT_NE(refusal([&] { open(settings(path)); }).find("is truncated"), std::string::npos) << path;
}

TEST_F(Texts, APackIsKeptAndMadeAgainWhereItIsDamagedOrTheTextHasChanged) {
  folder.write("a.txt", rhyme(100));
  const DataSource first = open(settings("a.txt"));
  const std::string text = text_of(*first.train, *first.tokenizer);
  ASSERT_EQ(packed().size(), 1u);
  const fs::path pack = packed().front();
  const auto time = fs::last_write_time(pack) - std::chrono::hours(1);
  fs::last_write_time(pack, time);
  open(settings("a.txt"));
  EXPECT_EQ(fs::last_write_time(pack), time);  // only opened

  std::fstream(pack, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('\x7f');
  const DataSource mended = open(settings("a.txt"));
  ASSERT_EQ(mended.damage.front()->sentences().size(), 1u);
  EXPECT_NE(mended.damage.front()->sentences().front().find("has a bad checksum"), std::string::npos);
  EXPECT_EQ(text_of(*mended.train, *mended.tokenizer), text);
  EXPECT_TRUE(open(settings("a.txt")).damage.front()->sentences().empty());

  folder.write("a.txt", rhyme(101));
  EXPECT_NE(open(settings("a.txt")).train->size(), 0u);
  EXPECT_EQ(packed().size(), 2u);
  // Without a place for it the text is packed in memory.
  DataSettings nowhere = settings("a.txt");
  nowhere.folder = "/dev/null";
  EXPECT_EQ(open(nowhere).train->size(), open(settings("a.txt")).train->size());
}

TEST_F(Texts, BrokenTextIsNamedOrLeftOut) {
  folder.write("a.txt", rhyme(10) + "x\xff" + rhyme(10));
  const std::string why = refusal([&] { open(settings("a.txt")); });
  EXPECT_NE(why.find("a.txt' is not UTF-8 at byte " + std::to_string(rhyme(10).size() + 1) + " (line 13)"),
            std::string::npos)
      << why;
  EXPECT_FALSE(fs::exists(folder.path() / "data"));
  DataSettings lenient = settings("a.txt");
  lenient.bad = OnDamage::skip;
  for (const char* time : {"packed", "found again"}) {
    const DataSource source = open(lenient, 1);
    EXPECT_EQ(source.damage.front()->count(), 1u) << time;
    EXPECT_EQ(text_of(*source.train, *source.tokenizer) + text_of(*source.test, *source.tokenizer),
              rhyme(10) + "x" + rhyme(10));
  }
  EXPECT_EQ(open(settings("a.txt", "bytes")).train->classes(), 256);
}

TEST_F(Texts, WrongTextsAndKeysAreOneSentence) {
  folder.write("a.txt", rhyme(20));
  folder.write("empty.txt", std::string());
  fs::create_directories(folder.path() / "nothing");
  const auto expect = [&](const DataSettings& settings, int context, const std::string& part) {
    const std::string why = refusal([&] { open(settings, context); });
    EXPECT_NE(why.find(part), std::string::npos) << why;
  };
  expect(settings("empty.txt"), 8, "empty.txt' is empty");
  expect(settings("nothing"), 8, "holds no files");
  expect(settings("no.txt"), 8, "there is no");
  expect(settings("a.txt"), 5000, "fewer than the 5001 of a window (model.context + 1)");
  expect(settings("a.txt"), 200, "tokens to test with");
  expect(settings("a.txt", "charcters"), 8, "did you mean 'characters'");
  expect(settings("a.txt", "sentencepiece:train:many"), 8, "the number of symbols");
  expect(settings("a.txt", "sentencepiece:train:100000"), 8, "at most");
  expect(settings("a.txt", "sentencepiece:train:4"), 8, "alone need");
  DataSettings wrong = settings("a.txt");
  wrong.path = {""};
  expect(wrong, 8, "needs data.path");
  wrong = settings("a.txt");
  wrong.test = Value{1.5};
  expect(wrong, 8, "data.test");
  wrong.test = Value{std::string("no")};
  expect(wrong, 8, "data.test: there is no 'no'");
  wrong = settings("a.txt");
  wrong.name = "fashion-mnist";
  expect(wrong, 8, "data.tokenizer");
}

TEST_F(Texts, ATestTextOfItsOwnLeavesAllToTrainWith) {
  folder.write("a.txt", std::string(100, 'a'));
  folder.write("b.txt", std::string(50, 'b'));
  DataSettings keys = settings("a.txt");
  keys.test = Value{(folder.path() / "b.txt").string()};
  const DataSource source = open(keys, 1);
  EXPECT_EQ(source.train->size(), 99u);
  EXPECT_EQ(source.test->size(), 49u);
  EXPECT_EQ(source.train->classes(), 2);
}

TEST_F(Texts, SitesWithTextsOfTheirOwnShareOneVocabulary) {
  folder.write("sites/a/1.txt", std::string(200, 'a') + std::string(100, 'x'));
  folder.write("sites/b.txt", std::string(100, 'b') + std::string(100, 'x'));
  const NodeFolders folders = open_node_folders(settings("sites"), 1, 2, {.context = 4});
  EXPECT_EQ(folders.source.tokenizer->content(), "abx");
  EXPECT_EQ(folders.ends, (std::vector<std::size_t>{67, 67 + 44}));  // (270 - 1) / 4, (180 - 1) / 4
  for (std::size_t i = 0; i < folders.source.train->size(); ++i)
    for (const std::int32_t id : window(*folders.source.train, i)) ASSERT_NE(id, i < 67 ? 1 : 0) << i;
  EXPECT_EQ(folders.source.test->size(), 7u + 4u);
}

TEST_F(Texts, AVocabularyThatIsAgreedHolds) {
  folder.write("a.txt", "line\n" + std::string(100, 'a') + "\xc3\xa9" + std::string(100, 'b'));
  DataSettings keys = settings("a.txt");
  keys.vocabulary = packed_tokenizer(*make_tokenizer("characters", "\nabceilnxyz"));
  const std::string why = refusal([&] { open(keys); });
  EXPECT_NE(why.find("a.txt' has '\xc3\xa9' at byte 105 (line 2), which is none of the 11 symbols"),
            std::string::npos)
      << why;
  keys.bad = OnDamage::skip;
  const DataSource source = open(keys, 1);
  EXPECT_EQ(source.train->classes(), 11);
  EXPECT_EQ(source.damage.front()->count(), 1u);
}

// A file from elsewhere, whose checksum is right.
TEST(TokenFile, ATokenOutsideTheVocabularyIsRefused) {
  const auto tokenizer = make_tokenizer("characters", "ab");
  std::vector<std::uint8_t> bytes;
  TokenWriter writer(*tokenizer, [&](std::span<const std::byte> part) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(part.data());
    bytes.insert(bytes.end(), begin, begin + part.size());
  });
  const std::vector<std::int32_t> ids{0, 1, 2, 1};
  writer.add(ids);
  TokenFacts facts;
  facts.train = ids.size();
  writer.finish(facts);
  const auto file = TokenFile::of_memory(bytes);
  std::vector<std::int32_t> read(2);
  file->read(0, read);
  EXPECT_EQ(read, (std::vector<std::int32_t>{0, 1}));
  EXPECT_THROW(file->read(1, read), RunError);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(TokenFile::of_memory({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}),
                 RequestError);
  for (std::uint8_t& byte : bytes) {
    byte ^= 1;
    EXPECT_THROW(TokenFile::of_memory(bytes), RequestError);
    byte ^= 1;
  }
}

TEST(Characters, AreEncodedByUnicodeAndRefusedIfUnknown) {
  const auto tokenizer = make_tokenizer("characters", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(tokenizer->size(), 4);
  std::vector<std::int32_t> ids;
  EXPECT_FALSE(
      tokenizer->encode("\xf0\x9f\x98\x80"
                        "a\xe2\x82\xac\xc3\xa9",
                        ids));
  EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 0, 2, 1}));
  EXPECT_EQ(tokenizer->encode("a\xc3\xa8", ids), 1u);
  EXPECT_THROW(make_tokenizer("characters", "aa"), RequestError);
  EXPECT_THROW(make_tokenizer("characters", "\xff"), RequestError);
  EXPECT_THROW(make_tokenizer("letters", ""), RequestError);
  EXPECT_THROW(unpack_tokenizer("characters"), RequestError);
}

}  // namespace
}  // namespace veche
