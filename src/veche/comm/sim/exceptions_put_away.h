#pragma once

#include <cxxabi.h>

namespace veche {

// While it lives, other actors of the same thread may run. C++ keeps one record a thread of the exceptions
// that are being handled: an actor that waits inside a handler would find there what another has left. So
// each puts its own away meanwhile.
class ExceptionsPutAway {
 public:
  ExceptionsPutAway() : kept_(*globals()) { *globals() = {}; }
  ~ExceptionsPutAway() { *globals() = kept_; }
  ExceptionsPutAway(const ExceptionsPutAway&) = delete;
  ExceptionsPutAway& operator=(const ExceptionsPutAway&) = delete;

 private:
  // As the C++ ABI lays it down (Itanium C++ ABI: exception handling, 2.2.2).
  struct Globals {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static Globals* globals() { return reinterpret_cast<Globals*>(abi::__cxa_get_globals()); }

  const Globals kept_;
};

}  // namespace veche
