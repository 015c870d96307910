// SPDX-License-Identifier: Apache-2.0
// The tables of tools (zet: metrics) and system management (zes). Loaders up to 1.8 treat a driver without all of them as
// broken; what an NPU lacks reports that it is unsupported.
// @source Level Zero specification 1.17, zet_ddi.h and zes_ddi.h of each version.
#include <array>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/calls/tools_calls.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>

namespace tenon::npu {
namespace {

using Table = std::span<const TableEntry>;

/// A table of unsupported calls, some of which are replaced. It holds its entries itself, since a handle is made where no
/// allocation may fail.
class PartTable {
 public:
  Table entries() const noexcept { return Table(entries_).first(count_); }
  /// @param places  How many entries each version added. @param given  By index; the versions are those of the places.
  PartTable(std::initializer_list<Places> places, std::initializer_list<std::pair<std::size_t, TableEntry>> given) {
    for (const Places& group : places)
      for (std::uint32_t i = 0; i < group.count && count_ < entries_.size(); ++i)
        entries_[count_++] = {reinterpret_cast<const void*>(unsupported_call), group.minor, ""};
    for (const auto& [index, each] : given) entries_[index] = {each.call, entries_[index].minor, each.name};
  }

 private:
  std::array<TableEntry, 48> entries_;
  std::size_t count_ = 0;
};

PartTable table_of(std::initializer_list<Places> places,
                   std::initializer_list<std::pair<std::size_t, TableEntry>> given) {
  return PartTable(places, given);
}

Table tools_context() {
  static const auto table =
      table_of({{0, 1}}, {
                             {0, entry<"zetContextActivateMetricGroups", calls::context_activate_metric_groups>(0)},
                         });
  return table.entries();
}

Table tools_list() {
  static const auto table = table_of(
      {{0, 4}}, {
                    {1, entry<"zetCommandListAppendMetricQueryBegin", calls::append_metric_query_begin>(0)},
                    {2, entry<"zetCommandListAppendMetricQueryEnd", calls::append_metric_query_end>(0)},
                    {3, entry<"zetCommandListAppendMetricMemoryBarrier", calls::append_metric_memory_barrier>(0)},
                });
  return table.entries();
}

Table metric() {
  static const auto table =
      table_of({{0, 2}}, {
                             {0, entry<"zetMetricGet", calls::metric_get>(0)},
                             {1, entry<"zetMetricGetProperties", calls::metric_get_properties>(0)},
                         });
  return table.entries();
}

Table metric_group() {
  static const auto table =
      table_of({{0, 3}}, {
                             {0, entry<"zetMetricGroupGet", calls::metric_group_get>(0)},
                             {1, entry<"zetMetricGroupGetProperties", calls::metric_group_get_properties>(0)},
                             {2, entry<"zetMetricGroupCalculateMetricValues", calls::metric_group_calculate>(0)},
                         });
  return table.entries();
}

Table metric_streamer() {
  static const auto table =
      table_of({{0, 3}}, {
                             {0, entry<"zetMetricStreamerOpen", calls::metric_streamer_open>(0)},
                             {1, entry<"zetMetricStreamerClose", calls::metric_streamer_close>(0)},
                             {2, entry<"zetMetricStreamerReadData", calls::metric_streamer_read>(0)},
                         });
  return table.entries();
}

Table metric_pool() {
  static const auto table =
      table_of({{0, 2}}, {
                             {0, entry<"zetMetricQueryPoolCreate", calls::metric_pool_create>(0)},
                             {1, entry<"zetMetricQueryPoolDestroy", calls::metric_pool_destroy>(0)},
                         });
  return table.entries();
}

Table metric_query() {
  static const auto table = table_of({{0, 4}}, {
                                                   {0, entry<"zetMetricQueryCreate", calls::metric_query_create>(0)},
                                                   {1, entry<"zetMetricQueryDestroy", calls::metric_query_destroy>(0)},
                                                   {2, entry<"zetMetricQueryReset", calls::metric_query_reset>(0)},
                                                   {3, entry<"zetMetricQueryGetData", calls::metric_query_get_data>(0)},
                                               });
  return table.entries();
}

Table sysman_global() {
  static const auto table = table_of({{5, 1}}, {
                                                   {0, entry<"zesInit", calls::sysman_init>(0)},
                                               });
  return table.entries();
}

Table sysman_device() {
  static const auto table =
      table_of({{0, 25}, {4, 4}, {5, 7}, {7, 1}},
               {
                   {0, entry<"zesDeviceGetProperties", calls::sysman_device_get_properties>(0)},
                   {1, entry<"zesDeviceGetState", calls::sysman_device_get_state>(0)},
                   {3, entry<"zesDeviceProcessesGetState", calls::sysman_device_processes_get_state>(0)},
                   {4, entry<"zesDevicePciGetProperties", calls::sysman_device_pci_get_properties>(0)},
                   {8, entry<"zesDeviceEnumDiagnosticTestSuites", calls::sysman_enum_nothing>(0)},
                   {9, entry<"zesDeviceEnumEngineGroups", calls::sysman_enum_engines>(0)},
                   {11, entry<"zesDeviceEnumFabricPorts", calls::sysman_enum_nothing>(0)},
                   {12, entry<"zesDeviceEnumFans", calls::sysman_enum_nothing>(0)},
                   {13, entry<"zesDeviceEnumFirmwares", calls::sysman_enum_nothing>(0)},
                   {14, entry<"zesDeviceEnumFrequencyDomains", calls::sysman_enum_frequencies>(0)},
                   {15, entry<"zesDeviceEnumLeds", calls::sysman_enum_nothing>(0)},
                   {16, entry<"zesDeviceEnumMemoryModules", calls::sysman_enum_memories>(0)},
                   {17, entry<"zesDeviceEnumPerformanceFactorDomains", calls::sysman_enum_nothing>(0)},
                   {18, entry<"zesDeviceEnumPowerDomains", calls::sysman_enum_powers>(0)},
                   {20, entry<"zesDeviceEnumPsus", calls::sysman_enum_nothing>(0)},
                   {21, entry<"zesDeviceEnumRasErrorSets", calls::sysman_enum_nothing>(0)},
                   {22, entry<"zesDeviceEnumSchedulers", calls::sysman_enum_nothing>(0)},
                   {23, entry<"zesDeviceEnumStandbyDomains", calls::sysman_enum_nothing>(0)},
                   {24, entry<"zesDeviceEnumTemperatureSensors", calls::sysman_enum_nothing>(0)},
                   {29, entry<"zesDeviceGet", calls::sysman_device_get>(0)},
               });
  return table.entries();
}

Table sysman_driver() {
  static const auto table =
      table_of({{0, 1}, {1, 1}, {5, 1}, {8, 2}}, {
                                                     {2, entry<"zesDriverGet", calls::sysman_driver_get>(0)},
                                                 });
  return table.entries();
}

Table sysman_power() {
  static const auto table =
      table_of({{0, 6}, {4, 2}}, {
                                     {0, entry<"zesPowerGetProperties", calls::power_get_properties>(0)},
                                     {1, entry<"zesPowerGetEnergyCounter", calls::power_get_energy_counter>(0)},
                                 });
  return table.entries();
}

Table sysman_frequency() {
  static const auto table =
      table_of({{0, 17}}, {
                              {0, entry<"zesFrequencyGetProperties", calls::frequency_get_properties>(0)},
                              {1, entry<"zesFrequencyGetAvailableClocks", calls::frequency_get_available_clocks>(0)},
                              {2, entry<"zesFrequencyGetRange", calls::frequency_get_range>(0)},
                              {4, entry<"zesFrequencyGetState", calls::frequency_get_state>(0)},
                          });
  return table.entries();
}

Table sysman_engine() {
  static const auto table =
      table_of({{0, 2}, {7, 1}}, {
                                     {0, entry<"zesEngineGetProperties", calls::engine_get_properties>(0)},
                                     {1, entry<"zesEngineGetActivity", calls::engine_get_activity>(0)},
                                 });
  return table.entries();
}

Table sysman_memory() {
  static const auto table =
      table_of({{0, 3}}, {
                             {0, entry<"zesMemoryGetProperties", calls::memory_get_properties>(0)},
                             {1, entry<"zesMemoryGetState", calls::memory_get_state>(0)},
                         });
  return table.entries();
}

using Pointers = std::array<const void*, 48>;

/// The pointers of a table, as handles lead to them; empty: all are unsupported.
const void* const* pointers_of(Table table, Pointers& pointers) noexcept {
  pointers.fill(reinterpret_cast<const void*>(unsupported_call));
  for (std::size_t i = 0; i < table.size(); ++i) pointers[i] = table[i].call;
  return pointers.data();
}

/// What a handle's second and third pointer lead to: a version, a validity flag, then one pointer per table.
template <std::size_t kTables>
class ToolDispatch {
 public:
  explicit ToolDispatch(const std::array<Table, kTables>& tables) noexcept {
    for (std::size_t i = 0; i < kTables; ++i) layout_.tables[i] = pointers_of(tables[i], pointers_[i]);
  }
  const void* get() const noexcept { return &layout_; }

 private:
  struct {
    std::uint32_t version = api_version();
    std::uint8_t is_valid = 1;
    std::array<const void* const*, kTables> tables{};
  } layout_;
  std::array<Pointers, kTables> pointers_;
};

}  // namespace

const void* tools_dispatch() noexcept {
  // MetricProgrammableExp, MetricTracerExp, MetricDecoderExp, Device, DeviceExp; Context, CommandList; CommandListExp, Module,
  // Kernel; Metric; MetricExp; MetricGroup; MetricGroupExp; MetricStreamer, MetricQueryPool, MetricQuery; TracerExp, Debug.
  static const ToolDispatch<19> dispatch({Table(), Table(), Table(), Table(), Table(), tools_context(), tools_list(),
                                          Table(), Table(), Table(), metric(), Table(), metric_group(), Table(),
                                          metric_streamer(), metric_pool(), metric_query(), Table(), Table()});
  return dispatch.get();
}

const void* sysman_dispatch() noexcept {
  // Global, Device; DeviceExp; Driver; DriverExp, Overclock, Scheduler, PerformanceFactor; Power, Frequency, Engine; Standby,
  // Firmware, FirmwareExp; Memory; FabricPort, Temperature, Psu, Fan, Led, Ras, RasExp, Diagnostics, VFManagementExp.
  static const ToolDispatch<24> dispatch(
      {sysman_global(), sysman_device(), Table(), sysman_driver(), Table(),
       Table(),         Table(),         Table(), sysman_power(),  sysman_frequency(),
       sysman_engine(), Table(),         Table(), Table(),         sysman_memory(),
       Table(),         Table(),         Table(), Table(),         Table(),
       Table(),         Table(),         Table(), Table()});
  return dispatch.get();
}

std::vector<std::span<const TableEntry>> named_tool_tables() {
  return {tools_context(), tools_list(),       metric(),        metric_group(),  metric_streamer(),
          metric_pool(),   metric_query(),     sysman_global(), sysman_device(), sysman_driver(),
          sysman_power(),  sysman_frequency(), sysman_engine(), sysman_memory()};
}

}  // namespace tenon::npu

#define TENON_NPU_TABLE(name, entries) \
  TENON_NPU_EXPORT(name) { return tenon::npu::fill_table(version, table, tenon::npu::entries()); }
#define TENON_NPU_NOTHING(name, ...) \
  TENON_NPU_EXPORT(name) { return tenon::npu::fill_unsupported(version, table, {__VA_ARGS__}); }

using tenon::npu::Places;

TENON_NPU_NOTHING(zetGetDeviceProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetDeviceExpProcAddrTable, Places{10, 2}, Places{13, 2})
TENON_NPU_TABLE(zetGetContextProcAddrTable, tools_context)
TENON_NPU_TABLE(zetGetCommandListProcAddrTable, tools_list)
TENON_NPU_NOTHING(zetGetCommandListExpProcAddrTable, Places{13, 1})
TENON_NPU_NOTHING(zetGetModuleProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetKernelProcAddrTable, Places{0, 1})
TENON_NPU_TABLE(zetGetMetricProcAddrTable, metric)
TENON_NPU_NOTHING(zetGetMetricExpProcAddrTable, Places{9, 2}, Places{11, 1})
TENON_NPU_TABLE(zetGetMetricGroupProcAddrTable, metric_group)
TENON_NPU_NOTHING(zetGetMetricGroupExpProcAddrTable, Places{2, 1}, Places{5, 1}, Places{6, 2}, Places{9, 5})
TENON_NPU_TABLE(zetGetMetricStreamerProcAddrTable, metric_streamer)
TENON_NPU_TABLE(zetGetMetricQueryPoolProcAddrTable, metric_pool)
TENON_NPU_TABLE(zetGetMetricQueryProcAddrTable, metric_query)
TENON_NPU_NOTHING(zetGetMetricProgrammableExpProcAddrTable, Places{9, 4})
TENON_NPU_NOTHING(zetGetMetricTracerExpProcAddrTable, Places{10, 6})
TENON_NPU_NOTHING(zetGetMetricDecoderExpProcAddrTable, Places{10, 3})
TENON_NPU_NOTHING(zetGetTracerExpProcAddrTable, Places{0, 5})
TENON_NPU_NOTHING(zetGetDebugProcAddrTable, Places{0, 11}, Places{5, 1})

TENON_NPU_TABLE(zesGetGlobalProcAddrTable, sysman_global)
TENON_NPU_TABLE(zesGetDeviceProcAddrTable, sysman_device)
TENON_NPU_NOTHING(zesGetDeviceExpProcAddrTable, Places{9, 2}, Places{10, 1})
TENON_NPU_TABLE(zesGetDriverProcAddrTable, sysman_driver)
TENON_NPU_NOTHING(zesGetDriverExpProcAddrTable, Places{9, 1})
TENON_NPU_NOTHING(zesGetOverclockProcAddrTable, Places{5, 9})
TENON_NPU_NOTHING(zesGetSchedulerProcAddrTable, Places{0, 8})
TENON_NPU_NOTHING(zesGetPerformanceFactorProcAddrTable, Places{0, 3})
TENON_NPU_TABLE(zesGetPowerProcAddrTable, sysman_power)
TENON_NPU_TABLE(zesGetFrequencyProcAddrTable, sysman_frequency)
TENON_NPU_TABLE(zesGetEngineProcAddrTable, sysman_engine)
TENON_NPU_NOTHING(zesGetStandbyProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetFirmwareProcAddrTable, Places{0, 2}, Places{8, 1}, Places{9, 1})
TENON_NPU_NOTHING(zesGetFirmwareExpProcAddrTable, Places{9, 2})
TENON_NPU_TABLE(zesGetMemoryProcAddrTable, sysman_memory)
TENON_NPU_NOTHING(zesGetFabricPortProcAddrTable, Places{0, 6}, Places{7, 2})
TENON_NPU_NOTHING(zesGetTemperatureProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetPsuProcAddrTable, Places{0, 2})
TENON_NPU_NOTHING(zesGetFanProcAddrTable, Places{0, 6})
TENON_NPU_NOTHING(zesGetLedProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetRasProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetRasExpProcAddrTable, Places{7, 2})
TENON_NPU_NOTHING(zesGetDiagnosticsProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetVFManagementExpProcAddrTable, Places{9, 5}, Places{10, 3}, Places{12, 1})
