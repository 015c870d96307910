// SPDX-License-Identifier: Apache-2.0
// The tables of tools (zet) and sysman (zes): loaders up to 1.8 treat a driver without them as broken.
// Every call in them reports that it is unsupported.
// @source Level Zero specification 1.17, zet_ddi.h and zes_ddi.h of each version.
#include <tenon/drivers/npu/objects/dispatch.hpp>

#define TENON_NPU_NOTHING(name, ...) \
  TENON_NPU_EXPORT(name) { return tenon::npu::fill_unsupported(version, table, {__VA_ARGS__}); }

using tenon::npu::Places;

TENON_NPU_NOTHING(zetGetDeviceProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetDeviceExpProcAddrTable, Places{10, 2}, Places{13, 2})
TENON_NPU_NOTHING(zetGetContextProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetCommandListProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zetGetCommandListExpProcAddrTable, Places{13, 1})
TENON_NPU_NOTHING(zetGetModuleProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetKernelProcAddrTable, Places{0, 1})
TENON_NPU_NOTHING(zetGetMetricProcAddrTable, Places{0, 2})
TENON_NPU_NOTHING(zetGetMetricExpProcAddrTable, Places{9, 2}, Places{11, 1})
TENON_NPU_NOTHING(zetGetMetricGroupProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zetGetMetricGroupExpProcAddrTable, Places{2, 1}, Places{5, 1}, Places{6, 2}, Places{9, 5})
TENON_NPU_NOTHING(zetGetMetricStreamerProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zetGetMetricQueryPoolProcAddrTable, Places{0, 2})
TENON_NPU_NOTHING(zetGetMetricQueryProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zetGetMetricProgrammableExpProcAddrTable, Places{9, 4})
TENON_NPU_NOTHING(zetGetMetricTracerExpProcAddrTable, Places{10, 6})
TENON_NPU_NOTHING(zetGetMetricDecoderExpProcAddrTable, Places{10, 3})
TENON_NPU_NOTHING(zetGetTracerExpProcAddrTable, Places{0, 5})
TENON_NPU_NOTHING(zetGetDebugProcAddrTable, Places{0, 11}, Places{5, 1})

TENON_NPU_NOTHING(zesGetGlobalProcAddrTable, Places{5, 1})
TENON_NPU_NOTHING(zesGetDeviceProcAddrTable, Places{0, 25}, Places{4, 4}, Places{5, 7}, Places{7, 1})
TENON_NPU_NOTHING(zesGetDeviceExpProcAddrTable, Places{9, 2}, Places{10, 1})
TENON_NPU_NOTHING(zesGetDriverProcAddrTable, Places{0, 1}, Places{1, 1}, Places{5, 1}, Places{8, 2})
TENON_NPU_NOTHING(zesGetDriverExpProcAddrTable, Places{9, 1})
TENON_NPU_NOTHING(zesGetOverclockProcAddrTable, Places{5, 9})
TENON_NPU_NOTHING(zesGetSchedulerProcAddrTable, Places{0, 8})
TENON_NPU_NOTHING(zesGetPerformanceFactorProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetPowerProcAddrTable, Places{0, 6}, Places{4, 2})
TENON_NPU_NOTHING(zesGetFrequencyProcAddrTable, Places{0, 17})
TENON_NPU_NOTHING(zesGetEngineProcAddrTable, Places{0, 2}, Places{7, 1})
TENON_NPU_NOTHING(zesGetStandbyProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetFirmwareProcAddrTable, Places{0, 2}, Places{8, 1}, Places{9, 1})
TENON_NPU_NOTHING(zesGetFirmwareExpProcAddrTable, Places{9, 2})
TENON_NPU_NOTHING(zesGetMemoryProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetFabricPortProcAddrTable, Places{0, 6}, Places{7, 2})
TENON_NPU_NOTHING(zesGetTemperatureProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetPsuProcAddrTable, Places{0, 2})
TENON_NPU_NOTHING(zesGetFanProcAddrTable, Places{0, 6})
TENON_NPU_NOTHING(zesGetLedProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetRasProcAddrTable, Places{0, 4})
TENON_NPU_NOTHING(zesGetRasExpProcAddrTable, Places{7, 2})
TENON_NPU_NOTHING(zesGetDiagnosticsProcAddrTable, Places{0, 3})
TENON_NPU_NOTHING(zesGetVFManagementExpProcAddrTable, Places{9, 5}, Places{10, 3}, Places{12, 1})
