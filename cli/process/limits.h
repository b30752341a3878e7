#pragma once

#include <exception>
#include <string>

namespace veche::cli {

// What the shell and the environment limit or ask for, looked at before anything is started.

// Ends the process with one sentence and exit code 2 where its address space (ulimit -v) or its open files
// (ulimit -n) are too few for any command. It ends at once: OpenBLAS tries without end to get memory that the
// limit forbids, and an orderly exit would wait for it.
void check_limits();

// Takes OMP_NUM_THREADS and the like out of the environment, with a note, where they are no numbers of
// threads: libraries answer such words with traces of their stack. How many threads compute is model.threads.
void ignore_bad_thread_counts();

// From now on, memory that cannot be had in any thread ends the process with one sentence and exit code 1.
void explain_lack_of_memory();
// Says the sentence and ends, whatever is going on in other threads.
[[noreturn]] void end_for_lack_of_memory() noexcept;

// For people: what an exception says, in our own words where it is the language's.
std::string sentence_of(const std::exception& error);

}  // namespace veche::cli
