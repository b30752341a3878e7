#pragma once

namespace veche {

// A heavy engine in its own shared object, in the folder `veche/` of the library folder, both in
// the build tree and when installed. base/module/modules.h lists them.
struct Module {
  const char* file;              // "veche_torch.so"
  const char* purpose;           // features that need it, in the plural: "neural networks"
  const char* package;           // Debian package needed to build it: "libtorch-dev"
  double address_space = 1.5e8;  // bytes needed to load it with its libraries and to work
  bool may_lack = false;         // Veche's Debian package only recommends the libraries it needs
};

// Whether the module's file exists, loadable or not.
bool module_exists(const Module& module);

// Loads the module, which stays loaded. Throws RequestError with one sentence: what is missing and
// what to install. Any thread.
void load_module(const Module& module);
// Address of a symbol of the module. The first call loads the module; throws as load_module does.
void* module_symbol(const Module& module, const char* symbol);

template <class Function>
Function* module_function(const Module& module, const char* symbol) {
  return reinterpret_cast<Function*>(module_symbol(module, symbol));
}

}  // namespace veche
