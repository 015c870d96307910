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

/// What the task supports; the arrays in it live for ever.
/// @param filter  What the pipeline has before it; null: nothing.
VAProcPipelineCaps process_caps(const Deinterlacing* filter);

}  // namespace tenon::va
