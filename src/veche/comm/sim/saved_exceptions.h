#pragma once

#include <cxxabi.h>

namespace veche {

// While it lives, other actors of the same thread may run. C++ keeps one record per thread of the
// exceptions being handled, so an actor that waits inside a handler would find another actor's
// record. Each actor therefore saves and restores its own.
class SavedExceptions {
 public:
  SavedExceptions() : kept_(*globals()) { *globals() = {}; }
  ~SavedExceptions() { *globals() = kept_; }
  SavedExceptions(const SavedExceptions&) = delete;
  SavedExceptions& operator=(const SavedExceptions&) = delete;

 private:
  // As defined by the Itanium C++ ABI (exception handling, 2.2.2).
  struct Globals {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static Globals* globals() { return reinterpret_cast<Globals*>(abi::__cxa_get_globals()); }

  const Globals kept_;
};

}  // namespace veche
