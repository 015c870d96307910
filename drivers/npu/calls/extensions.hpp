// SPDX-License-Identifier: Apache-2.0
// Which extensions this driver offers, and their tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tenon/drivers/npu/dispatch_internal.hpp>

namespace tenon::npu {

/// The tables of "ZE_extension_graph..." and "ZE_extension_profiling_data...": graph_table.cpp. Null for other names.
void* graph_extension_table(const char* name) noexcept;

/// Offered unless TENON_NPU_WITHOUT names it: a list as "mutable,profiling", of graph, profiling, command_queue,
/// context, driver, mutable, sysmem, ddi, timestamps, input_stage, cancel. For clients that want to see how they get on
/// with an old driver. Read once.
bool is_offered(std::string_view short_name) noexcept;

/// Tells the standard error what TENON_NPU_WITHOUT and TENON_NPU_FAIL name and nothing here is called.
/// @errors std::bad_alloc
void report_unknown_settings();

/// 1.18, or what TENON_NPU_GRAPH_VERSION says, 1.5 to 1.18. Read once.
std::uint32_t graph_extension_version() noexcept;

/// Every table of calls was asked for with this version at most: what the loader can hand on. See zeGet*ProcAddrTable.
std::uint32_t loader_version() noexcept;
void note_loader_version(std::uint32_t version) noexcept;

/// Every call that can be traced or made to fail, for checks of names.
std::vector<std::span<const TableEntry>> named_tables();
std::span<const TableEntry> named_graph_calls();
std::span<const TableEntry> named_profiling_calls();

/// A table of extension `name`, or a call by its full name (those that an old loader has no entry for). Null: neither.
void* extension_function(const char* name) noexcept;

}  // namespace tenon::npu
