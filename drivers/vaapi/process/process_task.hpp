// SPDX-License-Identifier: Apache-2.0
// Video processing as a context's task: deinterlace, crop, turn, mirror, scale, convert, mix, one layer after the other.
#pragma once

#include <memory>

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/objects/task.hpp>
#include <tenon/drivers/vaapi/process/filters.hpp>

namespace tenon::va {

std::unique_ptr<Task> make_process_task();

/// Capabilities of the task; the arrays to which the result points are static.
/// @param filter  The filter of the pipeline; null: none.
VAProcPipelineCaps process_caps(const Deinterlacing* filter);

}  // namespace tenon::va
