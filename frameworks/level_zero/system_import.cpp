// SPDX-License-Identifier: Apache-2.0
// Pages of the system as memory of ze_contexts: each is imported once for all its users.
#include <tenon/frameworks/level_zero/system_import.hpp>

#include <atomic>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/process_wide.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE SystemImports& SystemImports::process() {
  static auto& imports = process_wide<SystemImports>("tenon.level_zero.SystemImports.1");
  return imports;
}

TENON_INLINE SystemImport::Found SystemImport::find(const Ref<Native>& native, const void* data, std::size_t size) {
  const std::lock_guard lock(SystemImports::process().mutex);
  return find_locked(native, data, size);
}

TENON_INLINE Ref<SystemImport> SystemImport::of(const Ref<Native>& native, void* data, std::size_t size) {
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

TENON_INLINE SystemImport::~SystemImport() {
  if (!is_used_) return;
  SystemImports& all = SystemImports::process();
  const std::lock_guard lock(all.mutex);
  const auto entry = all.entries.find(key_);
  if (--entry->second.users != 0) return;
  zeMemFree(key_.first, entry->second.data);  // With the lock: until then the driver knows the pages.
  all.entries.erase(entry);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE void SystemImport::use(Entries::value_type& entry) {
  key_ = entry.first;
  ++entry.second.users;
  is_used_ = true;
}

TENON_INLINE SystemImport::Found SystemImport::find_locked(const Ref<Native>& native, const void* data,
                                                           std::size_t size) {
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
  const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(data) - static_cast<std::byte*>(facts->base));
  return {size <= facts->size - at, nullptr};
}

TENON_INLINE void SystemImport::refuse_overlap(const SystemImports& all, const SystemImports::Key& key,
                                               std::size_t size) {
  for (const auto& [other, entry] : all.entries) {
    if (other.first != key.first || other.second >= key.second + size || key.second >= other.second + entry.size)
      continue;
    throw Error(Code::kInvalidArgument,
                "level_zero: Can not import a memory which is part of an existing allocation: of these " +
                    std::to_string(size) + " bytes some belong to an import of " + std::to_string(entry.size) +
                    " bytes; import what contains both first, or give that one back");
  }
}

}  // namespace detail
}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
