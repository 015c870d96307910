// SPDX-License-Identifier: Apache-2.0
// The NPUs of this machine and the features of their drivers, found once per process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/devices/npu/ir.hpp>
#include <tenon/devices/npu/native.hpp>  // IWYU pragma: export
#include <tenon/devices/npu/settings.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::npu_device {

/// One NPU with its driver's tables, in a ze_context. Those of npus() live as long as the process, those for an
/// application's ze_context as long as their users. @thread all members from any thread.
struct Npu {
  level_zero::Device facts;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;  ///< Shared by all NPUs of a driver and all Cores, or an application's.
  /// The driver's own handles for both, required by the functions in its tables.
  ze_device_handle_t own_device = nullptr;
  ze_context_handle_t own_context = nullptr;
  std::uint32_t queue_ordinal = 0;

  const abi::GraphTable* graph = nullptr;
  std::uint32_t graph_version = 0;
  const abi::ProfilingTable* profiling = nullptr;  ///< Null if the driver has none; the same for the next ones.
  const abi::CommandQueueNpuTable* queue_table = nullptr;
  std::uint32_t queue_version = 0;
  const abi::ContextNpuTable* context_table = nullptr;
  const abi::CancelTable* cancel_table = nullptr;
  abi::CommandListGetNextCommandIdExp next_command_id = nullptr;
  abi::CommandListUpdateMutableCommandsExp update_commands = nullptr;
  bool mutable_by_driver = false;  ///< These two are the driver's own functions and take its handles.

  ze_device_properties_t properties{};
  bool imports_system_memory = false;
  bool waits_for_fences = false;  ///< The driver waits for fences that other devices have attached to dma-bufs
                                  ///< (kImplicitFencesExtension).
  CompilerVersion compiler;
  std::uint32_t max_opset = 0;
  std::string platform;  ///< "4000"
  std::string id;        ///< "4000", "4000.1": unique on this machine.
  Context applications;  ///< Wraps an application's ze_context without owning it; else empty.

  /// Whether the table has an entry. @param offset  of the entry in abi::GraphTable.
  bool has(std::size_t offset) const { return graph && offset / sizeof(void*) < abi::graph_entries(graph_version); }
  bool at_least(std::uint32_t major, std::uint32_t minor) const { return graph_version >= abi::version(major, minor); }
  bool is_mutable() const { return next_command_id && update_commands; }
  std::uint32_t api_version() const { return facts.driver->api_version; }
  Abilities abilities() const;
  /// Whether the driver's compiler has the option. @param value  empty: any value.
  bool takes_option(const std::string& key, const std::string& value = {}) const;
  std::int64_t max_tiles() const { return static_cast<std::int64_t>(properties.numSlices); }
  /// The device's memory in bytes: {allocated, total}. @errors those of the driver.
  abi::MemoryQuery memory() const;
};
#define TENON_NPU_HAS(npu, entry) (npu).has(offsetof(::tenon::level_zero::abi::GraphTable, entry))

/// The machine's NPUs in the loader's order. Searched until a call finds any.
/// @errors kUnavailable "Level zero backend is not found!" with the reason: no driver, no device, too old.
const std::vector<std::shared_ptr<const Npu>>& npus();

/// The NPU with this id: empty for the first; a platform for its first one. @errors kUnavailable.
std::shared_ptr<const Npu> npu_of(const std::string& id);

/// Writes a line to stderr if `level` is at most that of LOG_LEVEL or OV_NPU_LOG_LEVEL.
void log_line(log::Level wanted, log::Level level, const std::string& text);

}  // namespace tenon::inline v1::npu_device
