// SPDX-License-Identifier: Apache-2.0
// The NPUs of this machine: what each driver offers, found once per process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/devices/npu/ir.hpp>
#include <tenon/devices/npu/native.hpp>
#include <tenon/devices/npu/settings.hpp>

namespace tenon::inline v1::npu_device {

/// One NPU with its driver's tables, in a ze_context. Those of npus() live as long as the process, those in an
/// application's ze_context as long as whoever uses them. @thread all members from any thread.
struct Npu {
  level_zero::Device facts;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;  ///< One for all NPUs of a driver and all Cores, or an application's.
  /// The same two as the driver knows them: for the functions of its tables.
  ze_device_handle_t own_device = nullptr;
  ze_context_handle_t own_context = nullptr;
  std::uint32_t queue_ordinal = 0;

  const abi::GraphTable* graph = nullptr;
  std::uint32_t graph_version = 0;
  const abi::ProfilingTable* profiling = nullptr;  ///< Null where the driver has none; so are the next ones.
  const abi::CommandQueueNpuTable* queue_table = nullptr;
  std::uint32_t queue_version = 0;
  const abi::ContextNpuTable* context_table = nullptr;
  const abi::CancelTable* cancel_table = nullptr;
  abi::CommandListGetNextCommandIdExp next_command_id = nullptr;
  abi::CommandListUpdateMutableCommandsExp update_commands = nullptr;
  bool mutable_by_driver = false;  ///< The two are the driver's own functions, and want its handles.

  ze_device_properties_t properties{};
  bool imports_system_memory = false;
  CompilerVersion compiler;
  std::uint32_t max_opset = 0;
  std::string platform;  ///< "4000"
  std::string id;        ///< "4000", "4000.1": unique on this machine.
  Context applications;  ///< Around an application's ze_context, which stays the application's; else empty.

  /// Whether the table has an entry: `offset` is the entry's in abi::GraphTable.
  bool has(std::size_t offset) const { return graph && offset / sizeof(void*) < abi::graph_entries(graph_version); }
  bool at_least(std::uint32_t major, std::uint32_t minor) const { return graph_version >= abi::version(major, minor); }
  bool is_mutable() const { return next_command_id && update_commands; }
  std::uint32_t api_version() const { return facts.driver->api_version; }
  Abilities abilities() const;
  /// Options that the driver's compiler takes. @param value empty: the option in general.
  bool takes_option(const std::string& key, const std::string& value = {}) const;
  std::int64_t max_tiles() const { return static_cast<std::int64_t>(properties.numSlices); }
  /// Bytes of the device's memory: {allocated, total}. @errors what the driver gives.
  abi::MemoryQuery memory() const;
};
#define TENON_NPU_HAS(npu, entry) (npu).has(offsetof(::tenon::level_zero::abi::GraphTable, entry))

/// The machine's NPUs, in the loader's order; found at the first call that finds any.
/// @errors kUnavailable "Level zero backend is not found!" with what is missing: no driver, no device, too old.
const std::vector<std::shared_ptr<const Npu>>& npus();

/// The NPU called `id`: empty for the first; a platform for the first of that platform. @errors kUnavailable.
std::shared_ptr<const Npu> npu_of(const std::string& id);

/// Writes a line to stderr when `level` is at most the one of LOG_LEVEL or of OV_NPU_LOG_LEVEL.
void log_line(log::Level wanted, log::Level level, const std::string& text);

}  // namespace tenon::inline v1::npu_device
