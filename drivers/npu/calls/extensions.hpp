// SPDX-License-Identifier: Apache-2.0
// The extensions that this driver offers, and their tables.
#pragma once

#include <span>
#include <vector>

#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/frameworks/level_zero/abi/profiling.hpp>

namespace tenon::npu {

namespace abi = tenon::level_zero::abi;

/// The tables of "ZE_extension_graph..." and "ZE_extension_profiling_data...": graph_table.cpp. Null for other names.
void* graph_extension_table(const char* name) noexcept;

/// Warns on stderr about names in TENON_NPU_WITHOUT and TENON_NPU_FAIL that match nothing. Starts the control socket.
/// @errors std::bad_alloc
void report_unknown_settings();

/// Every call that can be traced or made to fail, for checking names.
std::vector<std::span<const TableEntry>> named_tables();
std::vector<std::span<const TableEntry>> named_tool_tables();
std::span<const TableEntry> named_graph_calls();
std::span<const TableEntry> named_profiling_calls();

/// What a handle's second and third pointer lead to: the tables of tools and of system management.
const void* tools_dispatch() noexcept;
const void* sysman_dispatch() noexcept;

/// The table of the profiling extension.
abi::ProfilingTable* profiling_table() noexcept;

/// The table of extension `name`, or a call by full name (for loaders without an entry for it); null if neither.
void* extension_function(const char* name) noexcept;

}  // namespace tenon::npu
