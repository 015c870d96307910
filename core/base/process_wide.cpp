// SPDX-License-Identifier: Apache-2.0
// The table of process-wide objects.
#include <tenon/core/process_wide.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE void* process_wide(std::string_view name, void* (*make)()) {
  struct Table {
    std::mutex mutex;
    std::map<std::string, void*, std::less<>> objects;
  };
  static Table* const table = new Table;  // Outlives static destructors.
  const std::lock_guard lock(table->mutex);
  auto object = table->objects.find(name);
  if (object == table->objects.end()) object = table->objects.emplace(name, nullptr).first;
  if (!object->second) object->second = make();  // Null if make() threw before.
  return object->second;
}

}  // namespace detail
}  // namespace v1
}  // namespace tenon
