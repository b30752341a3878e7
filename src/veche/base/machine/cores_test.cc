#include "veche/base/machine/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <limits>

#include "tests/support/temporary_folder.h"

namespace veche {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A fake cgroup file system, laid out as by the kernel.
struct Groups {
  void own(const std::string& lines) const { folder.write("membership", lines); }
  void file(const std::string& name, const std::string& text) const { folder.write("groups/" + name, text); }
  double quota() const { return core_quota(folder.path() / "groups", folder.path() / "membership"); }
  testing::TemporaryFolder folder;
};

TEST(CoreQuota, OfVersionTwoIsTheLeastOnTheWayUp) {
  const Groups groups;
  groups.own("0::/user.slice/job.scope\n");
  EXPECT_EQ(groups.quota(), kNoLimit);  // no files
  groups.file("user.slice/job.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(groups.quota(), kNoLimit);
  groups.file("user.slice/job.scope/cpu.max", "350000 100000\n");
  EXPECT_EQ(groups.quota(), 3.5);
  groups.file("user.slice/cpu.max", "100000 50000\n");
  EXPECT_EQ(groups.quota(), 2);
  groups.file("cpu.max", "800000 100000\n");
  EXPECT_EQ(groups.quota(), 2);
  groups.file("other.slice/cpu.max", "1000 100000\n");  // not ours
  EXPECT_EQ(groups.quota(), 2);
}

TEST(CoreQuota, OfAContainerIsAtTheTopThatItSees) {
  const Groups groups;
  groups.own("0::/kubepods/pod7/abc\n");
  groups.file("cpu.max", "150000 100000\n");
  EXPECT_EQ(groups.quota(), 1.5);
}

TEST(CoreQuota, OfVersionOne) {
  const Groups groups;
  groups.own("12:memory:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n");
  groups.file("memory/x/cpu.cfs_quota_us", "1000\n");  // the file of another controller
  groups.file("memory/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.quota(), kNoLimit);
  groups.file("cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  groups.file("cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.quota(), kNoLimit);
  groups.file("cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(groups.quota(), 2.5);
  groups.file("cpu/cpu.cfs_quota_us", "50000\n");  // under its other name
  groups.file("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.quota(), 0.5);
}

TEST(CoreQuota, WhatCannotBeReadLimitsNothing) {
  const Groups groups;
  EXPECT_EQ(groups.quota(), kNoLimit);
  for (const char* lines : {"", "\n", "nonsense", "0:", "0::", "::::\n4:cpu", "0::../../..\n"}) {
    groups.own(lines);
    EXPECT_EQ(groups.quota(), kNoLimit) << lines;
  }
  groups.own("0::/a\n");
  for (const char* text : {"", "max", "x y", "100000", "0 100000", "100000 0", "-5 100000", "nan nan"}) {
    groups.file("a/cpu.max", text);
    EXPECT_EQ(groups.quota(), kNoLimit) << text;
  }
}

class AllowedOn {
 public:
  explicit AllowedOn(int cores) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t fewer;
    CPU_ZERO(&fewer);
    for (std::size_t core = 0; cores > 0; ++core)
      if (CPU_ISSET(core, &before_)) {
        CPU_SET(core, &fewer);
        --cores;
      }
    sched_setaffinity(0, sizeof fewer, &fewer);
  }
  ~AllowedOn() { sched_setaffinity(0, sizeof before_, &before_); }
  AllowedOn(const AllowedOn&) = delete;
  AllowedOn& operator=(const AllowedOn&) = delete;

 private:
  cpu_set_t before_;
};

TEST(UsableCores, AreThoseAllowedWithinTheQuota) {
  cpu_set_t cores;
  ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  const int all = CPU_COUNT(&cores);
  EXPECT_EQ(usable_cores(1, kNoLimit), all);
  EXPECT_EQ(usable_cores(1, all - 0.5), all);
  EXPECT_EQ(usable_cores(1, 0.25), 1);
  EXPECT_EQ(usable_cores(1, 1), 1);
  EXPECT_EQ(usable_cores(2 * all, kNoLimit), 1);
  if (all > 1) {
    EXPECT_EQ(usable_cores(1, 1.5), 2);
    EXPECT_EQ(usable_cores(2, 2), 1);
  }
  const AllowedOn one(1);
  EXPECT_EQ(usable_cores(1, kNoLimit), 1);
  EXPECT_EQ(usable_cores(), 1);
}

}  // namespace
}  // namespace veche
