// SPDX-License-Identifier: Apache-2.0
// Questions about video processing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/objects/enumeration.hpp>
#include <tenon/drivers/vaapi/process/deinterlace.hpp>
#include <tenon/drivers/vaapi/process/filters.hpp>
#include <tenon/drivers/vaapi/process/process_task.hpp>

namespace tenon::va::calls {
namespace {

VAStatus check_context(VADriverContextP context, VAContextID id) {
  return acquire<Context>(display_of(context), id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
}

/// Copies all into a client's array. @source va_vpp.h: an array that is too short is an error, and the required number
/// is returned.
template <class T, std::size_t kCount>
VAStatus list_into(const std::array<T, kCount>& all, T* list, unsigned* room) {
  const unsigned had = std::exchange(*room, static_cast<unsigned>(kCount));
  if (had < kCount) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
  std::copy(all.begin(), all.end(), list);
  return VA_STATUS_SUCCESS;
}

VAStatus query_filters(VADriverContextP context, VAContextID id, VAProcFilterType* filters, unsigned* count) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!filters || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  return list_into(std::array{VAProcFilterDeinterlacing}, filters, count);
}

VAStatus query_filter_caps(VADriverContextP context, VAContextID id, VAProcFilterType type, void* caps,
                           unsigned* count) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!caps || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (number_of(type) != VAProcFilterDeinterlacing) {
    *count = 0;
    return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  }
  std::array<VAProcFilterCapDeinterlacing, std::size(kDeinterlacing)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i].type = kDeinterlacing[i];
  return list_into(all, static_cast<VAProcFilterCapDeinterlacing*>(caps), count);
}

VAStatus query_pipeline_caps(VADriverContextP context, VAContextID id, VABufferID* filters, unsigned count,
                             VAProcPipelineCaps* caps) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!caps) return VA_STATUS_ERROR_INVALID_PARAMETER;
  std::optional<Deinterlacing> filter;
  if (const VAStatus status = read_filters(display_of(context), filters, count, filter)) return status;
  *caps = process_caps(filter ? &*filter : nullptr);
  return VA_STATUS_SUCCESS;
}

}  // namespace

void fill_process_calls(VADriverVTableVPP& table) {
  table.version = VA_DRIVER_VTABLE_VPP_VERSION;
  table.vaQueryVideoProcFilters = query_filters;
  table.vaQueryVideoProcFilterCaps = query_filter_caps;
  table.vaQueryVideoProcPipelineCaps = query_pipeline_caps;
}

}  // namespace tenon::va::calls
