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

/// 1.13, or TENON_NPU_API_VERSION (1.3 to 1.17): what zeDriverGetApiVersion and the tables behind handles say. Read once.
std::uint32_t api_version() noexcept;

/// What zeDriverGetProperties says: `otherwise`, or TENON_NPU_DRIVER_VERSION. Read once.
std::uint32_t driver_version(std::uint32_t otherwise) noexcept;

/// Whether TENON_NPU_AS_HARDWARE is "1": names and versions in words are those of hardware's driver, and where the machine has
/// no /dev/udmabuf, a memfd is exported as a dma-buf. For clients that look for these; otherwise everything says that it is software.
bool is_as_hardware() noexcept;

/// Whether TENON_NPU_SYSTEM_MEMORY is "1": the device reads and writes all memory of the process, as no NPU does. For tests that
/// copy from and to memory that was never allocated or imported.
bool sees_system_memory() noexcept;

/// The highest API version for which the loader requested a dispatch table. See zeGet*ProcAddrTable.
std::uint32_t loader_version() noexcept;
void note_loader_version(std::uint32_t version) noexcept;

}  // namespace tenon::npu
