// SPDX-License-Identifier: Apache-2.0
// Pages of the system as memory of ze_contexts: each is imported once, whoever needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/level_zero/context.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// What is imported in this process, also by modules with hidden symbols. Plain data: no code of a module is kept here.
struct SystemImports {
  using Key = std::pair<ze_context_handle_t, std::uintptr_t>;  ///< The same pages may be in several ze_contexts.
  struct Entry {
    void* data;  ///< As the driver returned it.
    std::size_t size;
    std::size_t users;
  };
  std::mutex mutex;
  std::map<Key, Entry> entries;

  static SystemImports& process() {
    static auto& imports = process_wide<SystemImports>("tenon.level_zero.SystemImports.1");
    return imports;
  }
};

/// One use of pages that are imported into a ze_context. Level Zero does not let imports overlap, so all users of the
/// same pages share one, which is freed with the last of them.
/// @thread all members from any thread. Imports and their ends take turns: who asks for pages that are just being freed
/// waits for that.
class SystemImport final : public RefCounted {
 public:
  /// What a ze_context has already.
  struct Found {
    bool is_there = false;
    Ref<SystemImport> import;  ///< Null: an allocation of the driver, kept by somebody else.
  };
  /// Whether the ze_context has [data, data + size), imported or allocated. @errors those of native calls.
  static Found find(const Ref<Native>& native, const void* data, std::size_t size) {
    const std::lock_guard lock(SystemImports::process().mutex);
    return find_locked(native, data, size);
  }
  /// @param size  Whole pages from `data` on. @return null for memory that the driver knows already (a user's
  /// allocation wrapped as host memory), which needs no import.
  /// @errors kInvalidArgument: an import has a part of the pages, not all; those of native calls.
  static Ref<SystemImport> of(const Ref<Native>& native, void* data, std::size_t size) {
    SystemImports& all = SystemImports::process();
    const std::lock_guard lock(all.mutex);
    if (Found found = find_locked(native, data, size); found.is_there) return std::move(found.import);
    const SystemImports::Key key(native->context.get(), reinterpret_cast<std::uintptr_t>(data));
    refuse_overlap(all, key, size);
    abi::ExternalSystemMemory pages;
    pages.data = data;
    pages.size = size;
    Ref<SystemImport> import(new SystemImport(native));
    UsmBlock block = allocate_usm(native, UsmType::kHost, size, 0, {}, &pages, "importing");
    import->use(*all.entries.emplace(key, SystemImports::Entry{block.data(), size, 0}).first);
    block.release();
    Probe::handles.fetch_add(1,
                             std::memory_order_relaxed);  // Counted by the module that imports, and that which frees.
    return import;
  }
  ~SystemImport() override {
    if (!is_used_) return;
    SystemImports& all = SystemImports::process();
    const std::lock_guard lock(all.mutex);
    const auto entry = all.entries.find(key_);
    if (--entry->second.users != 0) return;
    zeMemFree(key_.first, entry->second.data);  // With the lock: until then the driver knows the pages.
    all.entries.erase(entry);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  using Entries = std::map<SystemImports::Key, SystemImports::Entry>;
  explicit SystemImport(Ref<Native> native) : native_(std::move(native)) {}
  void use(Entries::value_type& entry) {
    key_ = entry.first;
    ++entry.second.users;
    is_used_ = true;
  }
  static Found find_locked(const Ref<Native>& native, const void* data, std::size_t size) {
    Entries& entries = SystemImports::process().entries;
    const SystemImports::Key key(native->context.get(), reinterpret_cast<std::uintptr_t>(data));
    auto entry = entries.upper_bound(key);  // The previous entry begins at or before the pages.
    if (entry != entries.begin() && (--entry)->first.first == key.first) {
      const std::size_t at = key.second - entry->first.second, has = entry->second.size;
      if (at < has && size <= has - at) {
        Ref<SystemImport> import(new SystemImport(native));
        import->use(*entry);
        return {true, std::move(import)};
      }
      if (at < has) return {};  // Only a part.
    }
    const auto facts = find_usm(*native, data);
    if (!facts || facts->id == 0) return {};
    const auto at =
        static_cast<std::size_t>(static_cast<const std::byte*>(data) - static_cast<std::byte*>(facts->base));
    return {size <= facts->size - at, nullptr};
  }
  static void refuse_overlap(const SystemImports& all, const SystemImports::Key& key, std::size_t size) {
    for (const auto& [other, entry] : all.entries) {
      if (other.first != key.first || other.second >= key.second + size || key.second >= other.second + entry.size)
        continue;
      throw Error(Code::kInvalidArgument,
                  "level_zero: Can not import a memory which is part of an existing allocation: of these " +
                      std::to_string(size) + " bytes some belong to an import of " + std::to_string(entry.size) +
                      " bytes; import what contains both first, or give that one back");
    }
  }

  Ref<Native> native_;
  SystemImports::Key key_{};
  bool is_used_ = false;
};

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
