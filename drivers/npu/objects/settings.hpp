// SPDX-License-Identifier: Apache-2.0
// Process-wide settings, from the driver's variables and its loader.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::npu {

/// Whether an extension is offered. TENON_NPU_WITHOUT lists those that are not, as "mutable,profiling": graph,
/// profiling, command_queue, context, driver, mutable, sysmem, ddi, timestamps, input_stage, cancel, fences. Lets a client be
/// tested against an old driver. Read once, at first use.
bool is_offered(std::string_view short_name) noexcept;

/// 1.18, or TENON_NPU_GRAPH_VERSION (1.5 to 1.18). Read once.
std::uint32_t graph_extension_version() noexcept;

/// The highest API version for which the loader requested a dispatch table. See zeGet*ProcAddrTable.
std::uint32_t loader_version() noexcept;
void note_loader_version(std::uint32_t version) noexcept;

}  // namespace tenon::npu
