#pragma once

#include <string>

namespace veche {

// A heavy engine in its own shared object, in the folder `veche/` of the library folder, both in
// the build tree and when installed.
struct Module {
  std::string file;              // "veche_torch.so"
  std::string purpose;           // features that need it, in the plural: "neural networks"
  std::string package;           // Debian package needed to build it: "libtorch-dev"
  double address_space = 1.5e8;  // bytes needed to load it with its libraries and to work
};

// Address of a symbol of the module. The first call loads the module, which stays loaded. Throws
// RequestError with one sentence: what is missing and what to install. Any thread.
void* module_symbol(const Module& module, const std::string& symbol);

template <class Function>
Function* module_function(const Module& module, const std::string& symbol) {
  return reinterpret_cast<Function*>(module_symbol(module, symbol));
}

}  // namespace veche
