// SPDX-License-Identifier: Apache-2.0
// Finding and loading device modules, and the reasons why one can't be loaded.
#include <tenon/runtime/internal/registry.hpp>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/runtime/device/device_registry.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr std::string_view kPrefix = "libtenon_device_";

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
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
  void* library = platform::load_module(path, false, result.error);
  if (!library) return result;
  const auto function = reinterpret_cast<DeviceModuleFunction>(platform::symbol_of(library, kDeviceModuleSymbol));
  if (!function) {
    result.error = path.string() + " has no symbol " + kDeviceModuleSymbol + ": it is not a device module";
    return result;
  }
  const DeviceModule* module = function();
  try {
    if (!module) throw Error(Code::kUnavailable, path.string() + ": its factory returns no module");
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
  const auto folders = module_folders("TENON_DEVICE_PATH", reinterpret_cast<const void*>(&known_modules));
  for (const auto& [name, path] : find_modules(kPrefix, folders, unread))
    known.emplace(upper(name), KnownModule{nullptr, path});
  return known;
}

const DeviceModule& load_module(const std::string& name, const KnownModule& known) {
  if (known.linked) return *known.linked;
  Loaded loaded;
  {
    // Under the lock, so that two threads do not load one module at once; a module's initialisers must not make a
    // Core.
    std::lock_guard lock(modules().mutex);
    auto& all = modules().loaded;
    const std::string path = known.path.string();
    if (const auto found = all.find(path); found != all.end()) {
      loaded = found->second;
    } else {
      // Descriptors or memory may have run out: the next call tries again.
      loaded = load(known.path);
      if (loaded.module) all.emplace(path, loaded);
    }
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
