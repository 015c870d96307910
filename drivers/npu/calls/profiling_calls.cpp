// SPDX-License-Identifier: Apache-2.0
// The profiling extension's calls and table.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/run/profiling.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint32_t kMaxQueries = 1u << 16;

ze_result_t pool_create(abi::GraphHandle handle, std::uint32_t count, abi::ProfilingPoolHandle* pool) {
  return guarded([&] {
    Ref<Graph> graph;
    if (const ze_result_t result = acquire(handle, &graph)) return result;
    if (!pool) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (count == 0 || count > kMaxQueries) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "no queries, or too many");
    if (!graph->object->program().settings().profiling)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the graph was compiled without profiling");
    ProfilingPool* made = make_object<ProfilingPool>(count);
    if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *pool = static_cast<abi::ProfilingPoolHandle>(made->handle());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t pool_destroy(abi::ProfilingPoolHandle handle) { return destroy_handle(handle, Kind::kProfilingPool); }

ze_result_t query_create(abi::ProfilingPoolHandle handle, std::uint32_t index, abi::ProfilingQueryHandle* query) {
  return guarded([&] {
    Ref<ProfilingPool> pool;
    if (const ze_result_t result = acquire(handle, &pool)) return result;
    if (!query) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    auto slot = pool->query(index);
    if (!slot) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a query beyond the pool's size");
    auto* made = make_object<ProfilingQueryObject>(std::move(slot));
    if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *query = static_cast<abi::ProfilingQueryHandle>(made->handle());
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t query_destroy(abi::ProfilingQueryHandle handle) { return destroy_handle(handle, Kind::kProfilingQuery); }

ze_result_t query_get_data(abi::ProfilingQueryHandle handle, abi::ProfilingType type, std::uint32_t* size,
                           std::uint8_t* data) {
  return guarded([&] {
    Ref<ProfilingQueryObject> query;
    if (const ze_result_t result = acquire(handle, &query)) return result;
    if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return query->query->get_data(type, size, data);
  });
}

ze_result_t device_get_properties(ze_device_handle_t handle, abi::DeviceProfilingProperties* properties) {
  return guarded([&] {
    Ref<Device> device;
    if (const ze_result_t result = acquire_device(handle, &device)) return result;
    if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->extension_version = abi::kProfilingVersion;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t log_get_string(abi::ProfilingQueryHandle handle, std::uint32_t* size, char* text) {
  return guarded([&] {
    Ref<ProfilingQueryObject> query;
    if (const ze_result_t result = acquire(handle, &query)) return result;
    return give_text(std::string(), size, text);
  });
}

}  // namespace

std::span<const TableEntry> named_profiling_calls() {
  static const TableEntry entries[] = {entry<"pfnProfilingPoolCreate", pool_create>(0),
                                       entry<"pfnProfilingPoolDestroy", pool_destroy>(0),
                                       entry<"pfnProfilingQueryCreate", query_create>(0),
                                       entry<"pfnProfilingQueryDestroy", query_destroy>(0),
                                       entry<"pfnProfilingQueryGetData", query_get_data>(0),
                                       entry<"pfnDeviceGetProfilingDataProperties", device_get_properties>(0),
                                       entry<"pfnProfilingLogGetString", log_get_string>(0)};
  static_assert(std::size(entries) * sizeof(void*) == sizeof(abi::ProfilingTable));
  return entries;
}

abi::ProfilingTable* profiling_table() noexcept {
  static abi::ProfilingTable table = [] {
    std::array<const void*, sizeof(abi::ProfilingTable) / sizeof(void*)> places{};
    std::ranges::transform(named_profiling_calls(), places.begin(), &TableEntry::call);
    return std::bit_cast<abi::ProfilingTable>(places);
  }();
  return &table;
}

}  // namespace tenon::npu
