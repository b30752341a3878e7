#include "veche/runtime/record/run_folder.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "tests/support/temporary_folder.h"
#include "veche/config.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  Folder() { folder_.write("run/config.toml", std::string("[run]\n")); }
  const ::veche::testing::TemporaryFolder folder_;
  const fs::path path_ = folder_.path() / "run";
};

TEST_F(Folder, IsOneTrainersAndAnyReaders) {
  std::optional<RunFolder> mine = RunFolder::resume(path_);
  EXPECT_NO_THROW(RunFolder::open(path_));
  try {
    RunFolder::resume(path_);
    FAIL() << "two would train in it";
  } catch (const RequestError& error) {
    const std::string sentence =
        path_.string() + " is being trained by process " + std::to_string(::getpid());
    EXPECT_TRUE(std::string(error.what()).starts_with(sentence)) << error.what();
  }
  const RunFolder copy = *mine;
  mine.reset();
  EXPECT_THROW(RunFolder::resume(path_), RequestError) << "a copy holds it too";
}

TEST_F(Folder, HasAnIdThatStays) {
  RunFolder old = RunFolder::resume(path_);
  EXPECT_EQ(old.id(), 0U) << "as versions before ids left it";
  old.settle_id(0x1234);
  EXPECT_EQ(folder_.read("run/id"), (std::vector<std::uint8_t>{'0', '0', '0', '0', '0', '0', '0', '0', '0',
                                                               '0', '0', '0', '1', '2', '3', '4', '\n'}));
  old.settle_id(5);
  fs::rename(path_, folder_.path() / "moved");
  EXPECT_EQ(RunFolder::open(folder_.path() / "moved").id(), 0x1234U);
  folder_.write("moved/id", std::string("none\n"));
  EXPECT_THROW(RunFolder::open(folder_.path() / "moved"), RequestError);
}

TEST_F(Folder, PutsAsideWhatItHasAndIsAnotherRun) {
  RunFolder run = RunFolder::resume(path_);
  run.settle_id(0x1234);
  for (int times = 1; times <= 2; ++times) {
    folder_.write("run/metrics.jsonl", std::string("{}\n"));
    folder_.write("run/checkpoint/step-1/node-0", std::string("piece"));
    const fs::path aside = run.put_aside();
    EXPECT_EQ(aside, path_ / ("aside-" + std::to_string(times)));
    for (const char* name : {"id", "metrics.jsonl", "checkpoint/step-1/node-0"})
      EXPECT_TRUE(fs::exists(aside / name)) << name;
  }
  EXPECT_NE(run.id(), 0x1234U);
  EXPECT_EQ(RunFolder::open(path_).id(), run.id());
  for (const char* name : {"config.toml", "lock", "aside-1/checkpoint"})
    EXPECT_TRUE(fs::exists(path_ / name)) << name;
  EXPECT_FALSE(fs::exists(run.checkpoints()));
}

TEST_F(Folder, IsFreeAgainAfterwards) {
  RunFolder::resume(path_);
  EXPECT_NO_THROW(RunFolder::resume(path_));
}

TEST_F(Folder, TooManyOpenFilesAreNotANameThatIsTaken) {
  const Settings settings =
      Config::from_text("[run]\nname = \"new\"\nout = \"" + folder_.path().string() + "\"\n", "here")
          .resolve();
  const int next = ::dup(0);
  ::close(next);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit one_more{static_cast<rlim_t>(next) + 1, usual.rlim_max};
  std::string why;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  try {
    RunFolder::create(settings);
  } catch (const RequestError& error) {
    why = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_NE(why.find("new cannot be read: Too many open files"), std::string::npos) << why;
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
}

// From here on, this process finds a file system without locks.
void forbid_locks() {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

TEST_F(Folder, WithoutLocksIsUsedWithANotice) {
  const pid_t child = ::fork();
  if (child == 0) {
    forbid_locks();
    std::string said;
    try {
      const auto listen = [&](const std::string& sentence) { said += sentence; };
      const RunFolder one = RunFolder::resume(path_, listen);
      ::_exit(said.find("cannot be locked (No locks available)") == std::string::npos ? 2 : 0);
    } catch (const Error&) {
      ::_exit(3);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Folder, RefusesWhatHasThePlaceOfItsFiles) {
  for (const char* file : {"metrics.jsonl", "summary.json", "layout.json"}) {
    fs::create_directory(path_ / file);
    EXPECT_THROW(RunFolder::resume(path_), RequestError) << file;
    fs::remove(path_ / file);
  }
  folder_.write("run/checkpoint", std::string());
  EXPECT_THROW(RunFolder::resume(path_), RequestError);
}

}  // namespace
}  // namespace veche
