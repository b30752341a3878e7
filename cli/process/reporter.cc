#include "cli/process/reporter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "cli/terminal/output.h"
#include "cli/train/job_view.h"

namespace veche::cli {
namespace {

constexpr char kAllIsWell = '!';  // never the first character of an absolute path

// Reads lines from the pipe until the rank ends: folders, and finally that all is well.
void stand_by(int pipe, const std::string& resume_words) {
  std::string text, folder;
  bool well = false;
  char character = 0;
  for (;;) {
    const ssize_t count = ::read(pipe, &character, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (character != '\n') {
      text += character;
      continue;
    }
    well = text.front() == kAllIsWell;
    if (!well) folder = text;
    text.clear();
  }
  if (well || folder.empty()) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // print after the launcher's messages
  tell("veche: the job has ended because a rank was killed or crashed; the launcher names it\n");
  tell_how_to_go_on(folder, resume_words + " " + std::filesystem::relative(folder).string());
}

}  // namespace

Reporter::Reporter(const std::string& resume_words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  process_ = ::fork();
  if (process_ == 0) {
    ::setsid();  // launchers kill whole process groups
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) std::signal(signal, SIG_IGN);
    ::close(ends[1]);
    ::close(STDOUT_FILENO);
    prepare_output();
    stand_by(ends[0], resume_words);
    ::_exit(0);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
}

Reporter::~Reporter() {
  nothing_to_tell();
  if (pipe_ >= 0) ::close(pipe_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

void Reporter::watch(const std::filesystem::path& folder) {
  if (!folder.empty()) say(std::filesystem::absolute(folder).string());
}

void Reporter::nothing_to_tell() { say(std::string(1, kAllIsWell)); }

void Reporter::say(const std::string& line) {
  if (pipe_ >= 0 && ::write(pipe_, (line + "\n").data(), line.size() + 1) < 0) pipe_ = -1;
}

}  // namespace veche::cli
