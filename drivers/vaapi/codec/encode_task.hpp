// SPDX-License-Identifier: Apache-2.0
// Encoding as a context's task.
#pragma once

#include <memory>
#include <vector>

#include <va/va.h>

#include <tenon/drivers/vaapi/objects/display.hpp>
#include <tenon/drivers/vaapi/objects/task.hpp>

namespace tenon::va {

/// Whether this libavcodec can encode a profile.
bool encodes(VAProfile profile);
/// The formats of surfaces that it encodes; 0 if it does not.
std::uint32_t encode_rt_formats(VAProfile profile);
/// Attributes of encoders beside sizes and RT formats.
std::vector<VAConfigAttrib> encode_attributes();
std::unique_ptr<Task> make_encode_task(const Config& config);

}  // namespace tenon::va
