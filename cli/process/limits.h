#pragma once

#include <exception>
#include <string>

namespace veche::cli {

// Checks of limits from the shell and the environment, before anything is started.

// Ends the process with one sentence and exit code 2 if its address space (ulimit -v) or number of
// open files (ulimit -n) is too small for any command. Exits at once: OpenBLAS retries forbidden
// allocations forever, and an orderly exit would wait for it.
void check_limits();

// Removes OMP_NUM_THREADS and the like from the environment, with a note, if they are not thread
// counts: libraries respond to such values with stack traces. model.threads sets the number of
// computing threads.
void ignore_bad_thread_counts();

// From now on, a failed allocation in any thread ends the process with one sentence and exit code
// 1.
void explain_lack_of_memory();
// Prints the sentence and exits, whatever other threads do.
[[noreturn]] void end_for_lack_of_memory() noexcept;

// An exception's message for people; standard exceptions in our own words.
std::string sentence_of(const std::exception& error);

}  // namespace veche::cli
