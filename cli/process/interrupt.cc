#include "cli/process/interrupt.h"

#include <csignal>

namespace veche::cli {
namespace {

std::atomic<bool> interrupted = false;  // the only state that a signal handler can reach

void on_interrupt(int signal) {
  interrupted = true;
  if (signal != SIGHUP) std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupts::Interrupts(bool in_job) : in_job_(in_job) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  if (in_job_) std::signal(SIGUSR1, on_interrupt);
}

Interrupts::~Interrupts() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (std::signal(SIGHUP, SIG_DFL) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  if (in_job_) std::signal(SIGUSR1, SIG_DFL);
}

const std::atomic<bool>& Interrupts::asked() const { return interrupted; }

}  // namespace veche::cli
