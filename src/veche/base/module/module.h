#pragma once

#include <string>

namespace veche {

// A heavy engine in a shared object of its own, in the folder `veche/` where libraries are: the same place in
// the build tree and when installed.
struct Module {
  std::string file;              // "veche_torch.so"
  std::string purpose;           // what does not work without it, in the plural: "neural networks"
  std::string package;           // the Debian package that lets it be built: "libtorch-dev"
  double address_space = 1.5e8;  // bytes that it needs with its libraries, to be loaded and to work
};

// The address of a symbol of the module, which is loaded at the first call and stays loaded. Throws
// RequestError, one sentence saying what is missing and what to install. Any thread.
void* module_symbol(const Module& module, const std::string& symbol);

template <class Function>
Function* module_function(const Module& module, const std::string& symbol) {
  return reinterpret_cast<Function*>(module_symbol(module, symbol));
}

}  // namespace veche
