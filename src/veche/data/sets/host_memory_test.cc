#include "veche/data/sets/host_memory.h"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace veche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 3'000'001;

// Shared by this process and its forked children.
struct Counts {
  std::atomic<int> made, right, waiting;
  sem_t all_wait;
};

class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() : file_(fs::temp_directory_path() / ("veche-host-memory-" + std::to_string(getpid()))) {
    std::ofstream(file_) << "what the memory is made from";
    counts_ = static_cast<Counts*>(
        mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    sem_init(&counts_->all_wait, /*pshared=*/1, 0);
    before_ = left_behind();
  }
  ~HostMemoryTest() override {
    munmap(counts_, sizeof(Counts));
    fs::remove(file_);
  }

  static long left_behind() {
    return std::ranges::count_if(fs::directory_iterator("/dev/shm"), [](const fs::directory_entry& entry) {
      return entry.path().filename().string().starts_with("veche-");
    });
  }

  HostMemory get(int processes) const {
    return share_on_host(file_, kBytes, processes, [&](std::span<std::uint8_t> room) {
      ++counts_->made;
      for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<std::uint8_t>(i % 251);
    });
  }
  static bool is_right(const HostMemory& memory) {
    std::size_t wrong = memory.bytes.size() == kBytes ? 0 : 1;
    for (std::size_t i = 0; i < memory.bytes.size(); ++i) wrong += memory.bytes[i] != i % 251;
    return wrong == 0;
  }

  template <class Body>
  static std::vector<pid_t> fork_many(int count, Body body) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      body(i);
      _exit(0);
    }
    return children;
  }
  static void wait_for(const std::vector<pid_t>& children) {
    for (const pid_t child : children) waitpid(child, nullptr, 0);
  }

  fs::path file_;
  Counts* counts_ = nullptr;
  long before_ = 0;
};

TEST_F(HostMemoryTest, IsMadeOnceForAllAndLeavesNothing) {
  constexpr int kProcesses = 5;
  wait_for(fork_many(kProcesses, [&](int) {
    const HostMemory memory = get(kProcesses);
    if (is_right(memory)) ++counts_->right;
    if (++counts_->waiting == kProcesses)
      for (int i = 0; i < kProcesses; ++i) sem_post(&counts_->all_wait);
    const timespec deadline{.tv_sec = time(nullptr) + 30, .tv_nsec = 0};
    sem_timedwait(&counts_->all_wait, &deadline);
    if (left_behind() == before_) ++counts_->right;  // all have arrived: a kill from here on leaves nothing
  }));
  EXPECT_EQ(counts_->made, 1);
  EXPECT_EQ(counts_->right, 2 * kProcesses);
  EXPECT_EQ(left_behind(), before_);
}

TEST_F(HostMemoryTest, TheLastToLeaveRemovesItWhenNotAllHaveCome) {
  {
    const HostMemory first = get(9), second = get(9);
    EXPECT_TRUE(is_right(first));
    EXPECT_EQ(left_behind(), before_ + 1);
  }
  EXPECT_EQ(counts_->made, 1);
  EXPECT_EQ(left_behind(), before_);
}

TEST_F(HostMemoryTest, OneKilledWhileMakingItIsReplaced) {
  const auto dying = fork_many(1, [&](int) {
    share_on_host(file_, kBytes, 2, [](std::span<std::uint8_t> room) {
      room[0] = 99;
      raise(SIGKILL);
    });
  });
  wait_for(dying);
  EXPECT_TRUE(is_right(get(2)));
  EXPECT_EQ(counts_->made, 1);
  EXPECT_EQ(left_behind(), before_);
}

TEST_F(HostMemoryTest, AFailureIsEverybodysAndLeavesNothing) {
  const auto fail = [&] {
    share_on_host(file_, kBytes, 3, [](auto) { throw std::runtime_error("damaged"); });
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(left_behind(), before_);
}

TEST_F(HostMemoryTest, OneProcessKeepsItToItself) {
  const HostMemory memory = get(1);
  EXPECT_TRUE(is_right(memory));
  EXPECT_EQ(left_behind(), before_);
}

}  // namespace
}  // namespace veche
