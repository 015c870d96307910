// SPDX-License-Identifier: Apache-2.0
// Device modules: where they are looked for, how they are loaded, why they can't be.
#include <tenon/runtime/internal/registry.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/runtime/device/device_registry.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr std::string_view kPrefix = "libtenon_device_";
constexpr std::string_view kSuffix = ".so";

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Folders in order of preference: the user's, then where this very code lies (a library's folder, or a program's and
/// the lib folder beside it).
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> result;
  if (const char* path = std::getenv("TENON_DEVICE_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(':'), rest.size());
      if (end > 0) result.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&known_modules), &info) && info.dli_fname) {
    std::error_code ignored;
    auto self = std::filesystem::canonical(info.dli_fname, ignored);
    if (self.empty()) self = info.dli_fname;
    result.push_back(self.parent_path());
    result.push_back(self.parent_path().parent_path() / "lib");
  }
  return result;
}

struct Loaded {
  const DeviceModule* module = nullptr;
  std::string error;
};

struct Modules {
  std::mutex mutex;
  std::map<std::string, const DeviceModule*> linked;
  std::map<std::string, Loaded> loaded;  // By path.
};

Modules& modules() {
  static Modules* instance = new Modules;  // Never destroyed: Cores may be static objects.
  return *instance;
}

Loaded load(const std::filesystem::path& path) {
  Loaded result;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    result.error = why ? why : "unknown error of the loader";
    return result;
  }
  const auto function = reinterpret_cast<DeviceModuleFunction>(dlsym(library, kDeviceModuleSymbol));
  if (!function) {
    result.error = path.string() + " has no symbol " + kDeviceModuleSymbol + ": it is no device module";
    return result;
  }
  const DeviceModule* module = function();
  try {
    if (!module) throw Error(Code::kUnavailable, path.string() + " gives no module");
    check_module(path.string(), *module);
    result.module = module;
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace

void check_module(const std::string& what, const DeviceModule& module) {
  if (module.abi_version != kDeviceAbiVersion || module.struct_size < sizeof(DeviceModule)) {
    throw Error(Code::kUnavailable, what + " is built for version " + std::to_string(module.abi_version) +
                                        " of the device interface, this runtime has version " +
                                        std::to_string(kDeviceAbiVersion) + "; build both from one release");
  }
  if (!module.create || !module.name) throw Error(Code::kUnavailable, what + " has no factory or no name");
}

std::map<std::string, KnownModule> known_modules(std::string* unread) {
  std::map<std::string, KnownModule> known;
  {
    std::lock_guard lock(modules().mutex);
    for (const auto& [name, module] : modules().linked) known[name].linked = module;
  }
  for (const auto& folder : folders()) {
    std::error_code error;
    for (const std::filesystem::path& path : list_folder(folder, error)) {
      const std::string file = path.filename().string();
      if (file.size() <= kPrefix.size() + kSuffix.size() || file.compare(0, kPrefix.size(), kPrefix) != 0 ||
          file.compare(file.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) {
        continue;
      }
      const std::string name = upper(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()));
      known.emplace(name, KnownModule{nullptr, path});  // The first folder wins.
    }
    if (unread && error && error != std::errc::no_such_file_or_directory)
      *unread += "; \"" + folder.string() + "\" cannot be read: " + error.message();
  }
  return known;
}

const DeviceModule& load_module(const std::string& name, const KnownModule& known) {
  if (known.linked) return *known.linked;
  Loaded loaded;
  {
    // Under the lock, so that two threads do not load one module at a time; a module's initialisers must not make a
    // Core.
    std::lock_guard lock(modules().mutex);
    auto [entry, is_new] = modules().loaded.try_emplace(known.path.string());
    if (is_new) entry->second = load(known.path);
    loaded = entry->second;
    // Descriptors or memory may have been short: the next one tries again.
    if (!loaded.module) modules().loaded.erase(entry);
  }
  if (!loaded.module) throw Error(Code::kUnavailable, "Device \"" + name + "\" is unavailable: " + loaded.error);
  return *loaded.module;
}

void register_device(const DeviceModule& module) {
  check_module(std::string("device module ") + (module.name ? module.name : "without a name"), module);
  std::lock_guard lock(modules().mutex);
  if (!modules().linked.emplace(upper(module.name), &module).second) {
    throw Error(Code::kAlreadyExists, std::string("a device named \"") + module.name + "\" is registered already");
  }
}

bool unregister_device(const std::string& name) {
  std::lock_guard lock(modules().mutex);
  return modules().linked.erase(upper(name)) > 0;
}

}  // namespace v1
}  // namespace tenon
