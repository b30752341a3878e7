#include "veche/base/files/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/support/temporary_folder.h"
#include "veche/base/files/append_file.h"
#include "veche/base/files/file_lock.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// Limits the size of this process's files. Behaves like a full disk without a mount.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    set(bytes);
  }
  ~FullDisk() { room_again(); }
  void set(rlim_t bytes) const {
    const rlimit limit{std::min(bytes, before_.rlim_max), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  void room_again() const { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

template <class Work>
std::string sentence_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(WriteFile, LeavesNothingWhenItFails) {
  const ::veche::testing::TemporaryFolder folder;
  const fs::path file = folder.write("file", std::string("old"));
  {
    const FullDisk full(100);
    EXPECT_EQ(sentence_of([&] { write_file(file, std::string(1000, 'x')); }),
              file.string() + " cannot be written: File too large");
  }
  EXPECT_EQ(content(file), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(WriteFile, DoesNotMindWhatAKilledOneLeft) {
  const ::veche::testing::TemporaryFolder folder;
  const fs::path other = folder.write("other", std::string("precious"));
  fs::create_symlink(other, folder.path() / "file.new");
  write_file(folder.path() / "file", "new");
  EXPECT_EQ(content(folder.path() / "file"), "new");
  EXPECT_EQ(content(other), "precious");
  EXPECT_EQ(entries(folder.path()), 2U);
}

TEST(WriteFile, KeepsALinkAndReplacesWhatItLeadsTo) {
  const ::veche::testing::TemporaryFolder folder;
  const fs::path far = folder.write("far/file", std::string("old"));
  fs::create_symlink("far/file", folder.path() / "link");
  fs::create_symlink("link", folder.path() / "link to it");
  fs::create_symlink("far/none yet", folder.path() / "dangling");
  write_file(folder.path() / "link to it", "new");
  write_file(folder.path() / "dangling", "made");
  EXPECT_EQ(content(far), "new");
  EXPECT_EQ(content(folder.path() / "far/none yet"), "made");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link to it"));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "dangling"));
}

TEST(WriteFile, RefusesWhatIsNoFile) {
  const ::veche::testing::TemporaryFolder folder;
  fs::create_symlink("pipe", folder.path() / "link");
  fs::create_symlink("circle", folder.path() / "circle");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "circle", "pipe", "."})
    EXPECT_THROW(write_file(folder.path() / name, "text"), RequestError) << name;
  EXPECT_TRUE(fs::is_fifo(folder.path() / "pipe"));
  EXPECT_EQ(entries(folder.path()), 3U);
}

TEST(MakeFolder, TellsWhetherItIsNewAndMakesNoParents) {
  const ::veche::testing::TemporaryFolder folder;
  EXPECT_TRUE(make_folder_durably(folder.path() / "a"));
  EXPECT_FALSE(make_folder_durably(folder.path() / "a/"));
  EXPECT_EQ(sentence_of([&] { make_folder_durably(folder.path() / "b/c"); }),
            (folder.path() / "b/c").string() + " cannot be made: No such file or directory");
  folder.write("file", std::string());
  EXPECT_EQ(sentence_of([&] { make_folder_durably(folder.path() / "file"); }),
            (folder.path() / "file").string() + " cannot be made: Not a directory");
}

TEST(AppendFile, GoesOnBehindWhatThereIs) {
  const ::veche::testing::TemporaryFolder folder;
  AppendFile file(folder.write("lines", std::string("one\n")));
  EXPECT_TRUE(file.append("two\n"));
  EXPECT_TRUE(file.sync());
  EXPECT_EQ(content(file.path()), "one\ntwo\n");
}

TEST(AppendFile, HasWholeRecordsOnlyAndKeepsTheRestUntilThereIsRoom) {
  const ::veche::testing::TemporaryFolder folder;
  AppendFile file(folder.path() / "lines");
  const FullDisk full(12);  // in the middle of the third record
  EXPECT_TRUE(file.append("11111\n"));
  EXPECT_TRUE(file.append("2222\n"));
  EXPECT_FALSE(file.append("3333333\n"));
  EXPECT_FALSE(file.append("4\n"));  // would fit, but not before the pending record
  EXPECT_EQ(content(file.path()), "11111\n2222\n");
  EXPECT_EQ(file.why(), file.path().string() + " cannot be written: File too large");
  EXPECT_EQ(file.missing(), 2U);
  EXPECT_FALSE(file.sync());
  full.room_again();
  EXPECT_TRUE(file.write_kept());
  EXPECT_EQ(file.missing(), 0U);
  EXPECT_EQ(content(file.path()), "11111\n2222\n3333333\n4\n");
}

TEST(AppendFile, SaysWhatItCouldNotKeep) {
  const ::veche::testing::TemporaryFolder folder;
  AppendFile file(folder.path() / "lines");
  const FullDisk full(10);
  const std::string large(AppendFile::kMostKept / 2, 'x');
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(file.append(large));
  EXPECT_EQ(file.missing(), 3U);
  full.room_again();
  EXPECT_FALSE(file.write_kept()) << "the first is lost";
  EXPECT_EQ(file.missing(), 1U);
  EXPECT_EQ(fs::file_size(file.path()), 2 * large.size());
}

TEST(AppendFile, KnowsThatItWasRemoved) {
  const ::veche::testing::TemporaryFolder folder;
  AppendFile file(folder.path() / "lines");
  fs::remove(file.path());
  EXPECT_FALSE(file.append("line\n"));
  EXPECT_EQ(file.why(), file.path().string() + " was removed");
}

TEST(AppendFile, RefusesAFolderAtOnce) {
  const ::veche::testing::TemporaryFolder folder;
  EXPECT_EQ(sentence_of([&] { const AppendFile file(folder.path()); }),
            folder.path().string() + " cannot be opened: Is a directory");
}

TEST(FileLock, IsHeldByOneWhoIsNamed) {
  const ::veche::testing::TemporaryFolder folder;
  {
    const FileLock mine(folder.path() / "lock");
    EXPECT_EQ(mine.outcome(), FileLock::Outcome::held);
    const FileLock other(folder.path() / "lock");
    EXPECT_EQ(other.outcome(), FileLock::Outcome::taken);
    EXPECT_TRUE(other.why().starts_with("process " + std::to_string(::getpid()) + " on ")) << other.why();
  }
  const FileLock again(folder.path() / "lock");
  EXPECT_EQ(again.outcome(), FileLock::Outcome::held);
}

TEST(FileLock, EndsWithItsProcess) {
  const ::veche::testing::TemporaryFolder folder;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock held(folder.path() / "lock");
    const char ready = held.outcome() == FileLock::Outcome::held ? 'y' : 'n';
    if (::write(ends[1], &ready, 1) == 1) ::pause();
    ::_exit(1);
  }
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  EXPECT_EQ(ready, 'y');
  {
    const FileLock other(folder.path() / "lock");
    EXPECT_EQ(other.outcome(), FileLock::Outcome::taken);
    EXPECT_TRUE(other.why().starts_with("process " + std::to_string(child) + " on ")) << other.why();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(FileLock(folder.path() / "lock").outcome(), FileLock::Outcome::held);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace veche
