#pragma once

#include <string>

namespace veche::cli {

// At most this instruction set from now on, in this process and those it starts: of our own loops and of the
// libraries with kernels of their own, which read their limits from the environment when they are loaded. So
// before any module is, and before other threads are. Throws RequestError, naming `asked_by`, for one that
// the processor does not have.
void limit_instructions(const std::string& name, const std::string& asked_by);

// As the variable VECHE_ISA asks for, if it is there: so that runs on unlike machines do the same arithmetic.
void limit_instructions_by_environment();

}  // namespace veche::cli
