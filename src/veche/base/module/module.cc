#include "veche/base/module/module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>

#include "veche/base/machine/memory.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

// This program or library, as the loader knows it, so that no path is compiled in; null: unknown.
link_map* this_object() {
  Dl_info info{};
  link_map* object = nullptr;
  const int found = dladdr1(reinterpret_cast<const void*>(&module_symbol), &info,
                            reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP);
  return found == 0 ? nullptr : object;
}

fs::path module_folder() {
  const link_map* const object = this_object();
  if (object == nullptr) return "veche";
  if (*object->l_name != '\0') return fs::absolute(object->l_name).lexically_normal().parent_path() / "veche";
  // The loader gives the main program no name. In the build tree its libraries are in lib/.
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  const fs::path installed = prefix / VECHE_LIBRARY_FOLDER / "veche";
  return fs::exists(installed, ignored) ? installed : prefix / "lib" / "veche";
}

std::string loader_reason() {
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

bool module_exists(const Module& module) {
  std::error_code ignored;
  return fs::exists(module_folder() / module.file, ignored);
}

namespace {

std::string remedy(const Module& module) {
  return fmt::format("install the Debian package {} and rebuild Veche (`make build` does both)",
                     module.package);
}

void* handle_of(const Module& module) {
  const fs::path path = module_folder() / module.file;
  if (!module_exists(module))
    throw RequestError(fmt::format("this build of Veche has no {} ({} is missing): {}", module.purpose,
                                   path.string(), remedy(module)));

  // A loader that runs out of address space leaves libraries half initialised, and they hang or
  // crash.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr)
    check_address_space(module.address_space, fmt::format("the engine of the {}", module.purpose));

  // Modules find Veche's symbols only where everybody does. A library that a plug-in needs, such as
  // an extension of Python, is not there by itself.
  if (const link_map* const object = this_object(); object != nullptr && *object->l_name != '\0')
    dlopen(object->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);

  // RTLD_LOCAL, so that engines with the same symbols can coexist. The handle is never closed:
  // engines of this size do not survive being unloaded.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw RequestError(
        fmt::format("the engine of the {} cannot be loaded, a library it needs is missing or of another "
                    "version: {} (the loader said: {})",
                    module.purpose, remedy(module), loader_reason()));
  return handle;
}

}  // namespace

void load_module(const Module& module) { handle_of(module); }

void* module_symbol(const Module& module, const char* symbol) {
  void* address = dlsym(handle_of(module), symbol);
  if (address == nullptr)
    throw RequestError(
        fmt::format("the engine of the {} in {} belongs to another version of Veche: rebuild both together",
                    module.purpose, (module_folder() / module.file).string()));
  return address;
}

}  // namespace veche
