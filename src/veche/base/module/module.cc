#include "veche/base/module/module.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <optional>

#include "veche/base/machine/memory.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// The file of this library, as the loader knows it, so that no path is compiled in; empty: it is
// part of the main program, to which the loader gives no name. Nothing: the loader does not know.
std::optional<std::string> own_library() {
  Dl_info info{};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&module_symbol), &info, reinterpret_cast<void**>(&object),
              RTLD_DL_LINKMAP) == 0 ||
      object == nullptr)
    return {};
  return object->l_name;
}

fs::path module_folder() {
  const std::optional<std::string> library = own_library();
  if (!library) return "veche";
  if (!library->empty()) return fs::absolute(*library).lexically_normal().parent_path() / "veche";
  // In the build tree the program's libraries are in lib/.
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  const fs::path installed = prefix / VECHE_LIBRARY_FOLDER / "veche";
  return fs::exists(installed, ignored) ? installed : prefix / "lib" / "veche";
}

// Modules use symbols of this library. A program that loads it on demand, such as Python for an
// extension, keeps them to itself unless told otherwise.
void offer_symbols_to_modules() {
  const std::optional<std::string> library = own_library();
  if (library && !library->empty()) dlopen(library->c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

std::string loader_reason() {
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

void* module_symbol(const Module& module, const std::string& symbol) {
  const std::filesystem::path path = module_folder() / module.file;
  const std::string remedy =
      ": install the Debian package " + module.package + " and rebuild Veche (`make build` does both)";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw RequestError("this build of Veche has no " + module.purpose + " (" + path.string() +
                       " is missing)" + remedy);

  // A loader that runs out of address space leaves libraries half initialised, and they hang or
  // crash.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr)
    check_address_space(module.address_space, "the engine of the " + module.purpose);

  offer_symbols_to_modules();
  // RTLD_LOCAL, so that engines with the same symbols can coexist. The handle is never closed:
  // engines of this size do not survive being unloaded.
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
