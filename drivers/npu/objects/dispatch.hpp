// SPDX-License-Identifier: Apache-2.0
// Tables of calls: what the loader fills its own from, and what every handle begins with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include <level_zero/ze_api.h>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon::npu {

/// Of the API that this driver serves; places of calls that came later stay as they are.
inline constexpr std::uint32_t kApiVersion = level_zero::abi::version(1, 13);

/// One place of a table: the call, the minor version of the API since which tables have it, and its whole name. Null:
/// the place is left alone, and the loader says itself that the call is unsupported.
struct TableEntry {
  const void* call;
  std::uint32_t minor;
  const char* name;
};

/// Writes the places that a table of this version has, and no more: it may be shorter than ours.
ze_result_t fill_table(ze_api_version_t version, void* table, std::span<const TableEntry> entries) noexcept;

/// `count` places since API 1.`minor`.
struct Places {
  std::uint32_t minor;
  std::uint32_t count;
};
/// A table of which this driver has nothing, and whose calls nobody traces.
ze_result_t fill_unsupported(ze_api_version_t version, void* table, std::initializer_list<Places> places) noexcept;

/// Fills in what a handle begins with (four pointers), from which newer loaders call without knowing its driver.
void set_dispatch(const void** dispatch) noexcept;

}  // namespace tenon::npu

/// Defines one of the functions that the loader looks for.
#define TENON_NPU_EXPORT(name) \
  extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL name(ze_api_version_t version, void* table)
