// SPDX-License-Identifier: Apache-2.0
// Any text as the value of a property: it becomes a value of each type that properties have, and its text becomes the same value again; or
// it is refused with an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/properties.hpp>

namespace {

using namespace tenon;

template <typename T>
void try_as(const Any& text) {
  std::string written;
  try {
    written = Any(text.as<T>()).as<std::string>();
  } catch (const Error&) {
    return;
  }
  try {
    // What a value is written as is read, and is written so again. Not for numbers, whose text may have fewer digits, and lists of texts.
    const std::string again = Any(Any(written).as<T>()).as<std::string>();
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t>)
      if (again != written) std::abort();
  } catch (const Error&) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t>) std::abort();
  }
}

template <typename... T>
void try_all(const Any& text) {
  (try_as<T>(text), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Any text(std::string(reinterpret_cast<const char*>(data), size));
  try_all<bool, std::int64_t, std::uint64_t, std::int32_t, std::uint32_t, std::int8_t, float, double, std::string,
          AnyMap, std::vector<std::string>, std::vector<std::int64_t>, std::set<std::string>,
          std::map<std::string, std::string>, std::map<std::string, std::int64_t>, std::tuple<unsigned, unsigned>,
          hint::PerformanceMode, hint::ExecutionMode, hint::Priority, hint::SchedulingCoreType, CacheMode, WorkloadType,
          log::Level>(text);
  return 0;
}
