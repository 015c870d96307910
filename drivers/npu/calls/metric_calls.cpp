// SPDX-License-Identifier: Apache-2.0
// zet*: checks the arguments of calls about metrics; metrics.cpp counts.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/calls/metrics.hpp>
#include <tenon/drivers/npu/calls/tools_calls.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint32_t kDomain = 1;

/// Objects behind zet handles of lists, devices and contexts are the core's.
template <class T, class Handle>
ze_result_t acquire_core(Handle handle, Ref<T>* object) {
  return acquire(static_cast<typename T::Handle>(static_cast<void*>(handle)), object);
}

template <std::size_t kSize>
void copy_text(char (&to)[kSize], const char* from) {
  std::memset(to, 0, kSize);
  std::strncpy(to, from, kSize - 1);
}

std::size_t report_bytes(const MetricGroup& group) { return group.metrics().size() * sizeof(std::uint64_t); }

/// For calls that name a context, a device and a group of that device.
struct Target {
  Ref<Context> context;
  Ref<Device> device;
  Ref<MetricGroup> group;

  ze_result_t find(zet_context_handle_t context_handle, zet_device_handle_t device_handle,
                   zet_metric_group_handle_t group_handle) {
    if (const ze_result_t result = acquire_core(context_handle, &context)) return result;
    if (const ze_result_t result = acquire_core(device_handle, &device)) return result;
    if (const ze_result_t result = acquire(group_handle, &group)) return result;
    if (&group->device != device.get())
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the metric group is another device's");
    return ZE_RESULT_SUCCESS;
  }
};

std::uint64_t bit_of(const Device& device) { return std::uint64_t{1} << (device.index() & 63); }

class QueryCommand final : public Command {
 public:
  QueryCommand(Ref<MetricQuery> query, bool is_begin) : query_(std::move(query)), is_begin_(is_begin) {}
  ze_result_t run(Device&, StopCheck) noexcept override {
    is_begin_ ? query_->begin() : query_->end();
    return ZE_RESULT_SUCCESS;
  }
  const char* name() const noexcept override { return is_begin_ ? "metric query begin" : "metric query end"; }

 private:
  const Ref<MetricQuery> query_;
  const bool is_begin_;
};

ze_result_t append_query(zet_command_list_handle_t list, zet_metric_query_handle_t handle, bool is_begin,
                         ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) try {
  if (!list) return or_refuse(signal, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  Ref<MetricQuery> query;
  if (const ze_result_t result = acquire(handle, &query)) return or_refuse(signal, result);
  return append_command(static_cast<ze_command_list_handle_t>(static_cast<void*>(list)),
                        std::make_unique<QueryCommand>(std::move(query), is_begin), signal, wait_count, waits);
} catch (const std::bad_alloc&) {
  return or_refuse(signal, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

}  // namespace

namespace calls {

ze_result_t metric_group_get(zet_device_handle_t handle, std::uint32_t* count, zet_metric_group_handle_t* groups) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_core(handle, &device)) return result;
  const MetricGroup* group = only_object_of<MetricGroup>(*device);
  if (!group) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  return enumerate(count, groups, 1, [&](std::uint32_t, zet_metric_group_handle_t& entry) { entry = group->handle(); });
}

ze_result_t metric_group_get_properties(zet_metric_group_handle_t handle, zet_metric_group_properties_t* properties) {
  Ref<MetricGroup> group;
  if (const ze_result_t result = acquire(handle, &group)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  copy_text(properties->name, "NOC");
  copy_text(properties->description,
            "What the software NPU executed and moved, under the names of hardware's counters");
  properties->samplingType =
      ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED | ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
  properties->domain = kDomain;
  properties->metricCount = static_cast<std::uint32_t>(group->metrics().size());
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_group_calculate(zet_metric_group_handle_t handle, zet_metric_group_calculation_type_t type,
                                   std::size_t size, const std::uint8_t* data, std::uint32_t* count,
                                   zet_typed_value_t* values) {
  Ref<MetricGroup> group;
  if (const ze_result_t result = acquire(handle, &group)) return result;
  if (!data || !count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (type == ZET_METRIC_GROUP_CALCULATION_TYPE_MAX_METRIC_VALUES)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "counters have no maximum");
  if (type != ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (size % report_bytes(*group) != 0)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE,
                "the data is not a whole number of reports of " + std::to_string(report_bytes(*group)) + " bytes");
  return enumerate(count, values, size / sizeof(std::uint64_t), [&](std::uint32_t i, zet_typed_value_t& value) {
    value.type = ZET_VALUE_TYPE_UINT64;
    std::memcpy(&value.value.ui64, data + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
  });
}

ze_result_t metric_get(zet_metric_group_handle_t handle, std::uint32_t* count, zet_metric_handle_t* metrics) {
  Ref<MetricGroup> group;
  if (const ze_result_t result = acquire(handle, &group)) return result;
  return enumerate(count, metrics, group->metrics().size(),
                   [&](std::uint32_t i, zet_metric_handle_t& entry) { entry = group->handles[i]; });
}

ze_result_t metric_get_properties(zet_metric_handle_t handle, zet_metric_properties_t* properties) {
  Ref<Metric> metric;
  if (const ze_result_t result = acquire(handle, &metric)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  copy_text(properties->name, metric->info.name);
  copy_text(properties->description, metric->info.description);
  copy_text(properties->component, "NOC");
  properties->tierNumber = 1;
  properties->metricType = metric->info.type;
  properties->resultType = ZET_VALUE_TYPE_UINT64;
  copy_text(properties->resultUnits, metric->info.units);
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_activate_metric_groups(zet_context_handle_t context_handle, zet_device_handle_t device_handle,
                                           std::uint32_t count, zet_metric_group_handle_t* groups) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire_core(context_handle, &context)) return result;
  if (const ze_result_t result = acquire_core(device_handle, &device)) return result;
  if (count != 0 && !groups) return ZE_RESULT_ERROR_INVALID_SIZE;
  for (std::uint32_t i = 0; i < count; ++i)
    if (Target target; const ze_result_t result = target.find(context_handle, device_handle, groups[i])) return result;
  if (count != 0) {
    device->activity().watch();
    context->metric_devices.fetch_or(bit_of(*device));
  } else {
    context->metric_devices.fetch_and(~bit_of(*device));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_pool_create(zet_context_handle_t context, zet_device_handle_t device,
                               zet_metric_group_handle_t group, const zet_metric_query_pool_desc_t* descriptor,
                               zet_metric_query_pool_handle_t* pool) {
  Target target;
  if (const ze_result_t result = target.find(context, device, group)) return result;
  if (!descriptor || !pool) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->type != ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE &&
      descriptor->type != ZET_METRIC_QUERY_POOL_TYPE_EXECUTION)
    return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (descriptor->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  MetricPool* made = make_object<MetricPool>(std::move(target.group), descriptor->count);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *pool = static_cast<zet_metric_query_pool_handle_t>(made->handle());
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_pool_destroy(zet_metric_query_pool_handle_t pool) { return destroy_handle(pool, Kind::kMetricPool); }

ze_result_t metric_query_create(zet_metric_query_pool_handle_t handle, std::uint32_t index,
                                zet_metric_query_handle_t* query) {
  Ref<MetricPool> pool;
  if (const ze_result_t result = acquire(handle, &pool)) return result;
  if (!query) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (index >= pool->count)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "query " + std::to_string(index) + " of a pool of " + std::to_string(pool->count));
  MetricQuery* made = make_object<MetricQuery>(std::move(pool));
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *query = static_cast<zet_metric_query_handle_t>(made->handle());
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_query_destroy(zet_metric_query_handle_t query) { return destroy_handle(query, Kind::kMetricQuery); }

ze_result_t metric_query_reset(zet_metric_query_handle_t handle) {
  Ref<MetricQuery> query;
  if (const ze_result_t result = acquire(handle, &query)) return result;
  query->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_query_get_data(zet_metric_query_handle_t handle, std::size_t* size, std::uint8_t* data) {
  Ref<MetricQuery> query;
  if (const ze_result_t result = acquire(handle, &query)) return result;
  if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const std::size_t bytes = report_bytes(query->group());
  if (*size == 0 || !data) {
    *size = bytes;
    return ZE_RESULT_SUCCESS;
  }
  MetricReport report;
  if (!query->read(&report)) return ZE_RESULT_NOT_READY;
  *size = std::min(*size, bytes);
  std::memcpy(data, report.data(), *size);
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_metric_query_begin(zet_command_list_handle_t list, zet_metric_query_handle_t query) {
  return append_query(list, query, true, nullptr, 0, nullptr);
}

ze_result_t append_metric_query_end(zet_command_list_handle_t list, zet_metric_query_handle_t query,
                                    ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  return append_query(list, query, false, signal, wait_count, waits);
}

ze_result_t append_metric_memory_barrier(zet_command_list_handle_t list) try {
  // A list's commands run one after the other.
  return append_command(static_cast<ze_command_list_handle_t>(static_cast<void*>(list)),
                        std::make_unique<Nothing>("metric barrier"), nullptr, 0, nullptr);
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t metric_streamer_open(zet_context_handle_t context, zet_device_handle_t device,
                                 zet_metric_group_handle_t group, zet_metric_streamer_desc_t* descriptor,
                                 ze_event_handle_t event_handle, zet_metric_streamer_handle_t* streamer) {
  Target target;
  if (const ze_result_t result = target.find(context, device, group)) return result;
  if (!descriptor || !streamer) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (!(target.context->metric_devices.load() & bit_of(*target.device)))
    return fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "the metric group is not active: zetContextActivateMetricGroups");
  Ref<Event> event;
  if (event_handle) {
    if (const ze_result_t result = acquire(event_handle, &event)) return result;
  }
  descriptor->samplingPeriod = std::max(descriptor->samplingPeriod, std::uint32_t{MetricStreamer::kMinPeriodNs});
  MetricStreamer* made = make_object<MetricStreamer>(std::move(target.group), std::move(event),
                                                     descriptor->notifyEveryNReports, descriptor->samplingPeriod);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *streamer = static_cast<zet_metric_streamer_handle_t>(made->handle());
  return ZE_RESULT_SUCCESS;
}

ze_result_t metric_streamer_close(zet_metric_streamer_handle_t streamer) {
  return destroy_handle(streamer, Kind::kMetricStreamer);
}

ze_result_t metric_streamer_read(zet_metric_streamer_handle_t handle, std::uint32_t max_reports, std::size_t* size,
                                 std::uint8_t* data) try {
  Ref<MetricStreamer> streamer;
  if (const ze_result_t result = acquire(handle, &streamer)) return result;
  if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const std::size_t bytes = report_bytes(streamer->group());
  const std::size_t wanted = std::min<std::size_t>(streamer->available(), max_reports);
  if (*size == 0 || !data) {
    *size = wanted * bytes;
    return ZE_RESULT_SUCCESS;
  }
  std::vector<MetricReport> reports(std::min(wanted, *size / bytes));
  const std::size_t count = streamer->take(reports);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(data + i * bytes, reports[i].data(), bytes);
  *size = count * bytes;
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace calls
}  // namespace tenon::npu
