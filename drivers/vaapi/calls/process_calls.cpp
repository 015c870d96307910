// SPDX-License-Identifier: Apache-2.0
// Questions about video processing. There are no filters.
#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/process/process_task.hpp>

namespace tenon::va::calls {
namespace {

VAStatus check_context(VADriverContextP context, VAContextID id) {
  return acquire<Context>(display_of(context), id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
}

VAStatus query_filters(VADriverContextP context, VAContextID id, VAProcFilterType* filters, unsigned* count) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!filters || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *count = 0;
  return VA_STATUS_SUCCESS;
}

VAStatus query_filter_caps(VADriverContextP context, VAContextID id, VAProcFilterType, void* caps, unsigned* count) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!caps || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *count = 0;
  return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
}

VAStatus query_pipeline_caps(VADriverContextP context, VAContextID id, VABufferID* filters, unsigned count,
                             VAProcPipelineCaps* caps) {
  if (const VAStatus status = check_context(context, id)) return status;
  if (!caps || (count > 0 && !filters)) return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (count > 0) return VA_STATUS_ERROR_UNSUPPORTED_FILTER;
  *caps = process_caps();
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
