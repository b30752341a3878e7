#include "veche/base/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "veche/base/errors.h"

namespace veche {
namespace {

// Asked of the loader about an address inside this library, so that no path is compiled in.
std::filesystem::path module_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&module_symbol), &info) == 0 || info.dli_fname == nullptr)
    return "veche";
  return std::filesystem::absolute(info.dli_fname).lexically_normal().parent_path() / "veche";
}

std::string loader_reason() {
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

void* module_symbol(const Module& module, const std::string& symbol) {
  const std::filesystem::path path = module_folder() / module.file;
  const std::string remedy = ": install the Debian package " + module.package + " and rebuild Veche";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw RequestError("this build of Veche has no " + module.purpose + " (" + path.string() +
                       " is missing)" + remedy);

  // Local, so that engines with the same symbols can live side by side. The loader counts the openings and
  // nobody closes: engines of this size do not survive being unloaded.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw RequestError("the engine of the " + module.purpose +
                       " cannot be loaded, a library it needs is missing or of " + "another version" +
                       remedy + " (the loader said: " + loader_reason() + ")");
  void* address = dlsym(handle, symbol.c_str());
  if (address == nullptr)
    throw RequestError("the engine of the " + module.purpose + " in " + path.string() +
                       " belongs to another version of Veche: rebuild both together");
  return address;
}

}  // namespace veche
