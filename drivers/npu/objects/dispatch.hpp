// SPDX-License-Identifier: Apache-2.0
// Dispatch tables: those the loader requests from the driver, and those that every handle begins with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include <level_zero/ze_api.h>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon::npu {

/// The API version that this driver implements, and says that it does unless TENON_NPU_API_VERSION says otherwise. Table
/// entries of later versions are left untouched.
inline constexpr std::uint32_t kApiVersion = level_zero::abi::version(1, 13);

/// One entry of a table: the call, the minor API version that added it, and its full name. A null call leaves the entry
/// alone, and the loader itself reports the call as unsupported.
struct TableEntry {
  const void* call;
  std::uint32_t minor;
  const char* name;
};

/// Writes only the entries that a table of this version has: it may be shorter than ours.
ze_result_t fill_table(ze_api_version_t version, void* table, std::span<const TableEntry> entries) noexcept;

/// `count` entries that API 1.`minor` added.
struct Places {
  std::uint32_t minor;
  std::uint32_t count;
};
/// Fills a table with unsupported calls, which are not traced.
ze_result_t fill_unsupported(ze_api_version_t version, void* table, std::initializer_list<Places> places) noexcept;

/// Fills in the four table pointers at the start of a handle, through which newer loaders call any driver.
void set_dispatch(const void** dispatch) noexcept;

}  // namespace tenon::npu

/// Defines a function that the loader looks up by name.
#define TENON_NPU_EXPORT(name) \
  extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL name(ze_api_version_t version, void* table)
