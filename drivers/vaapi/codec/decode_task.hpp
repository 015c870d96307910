// SPDX-License-Identifier: Apache-2.0
// Decoding as a context's task.
#pragma once

#include <memory>
#include <span>

#include <va/va.h>

#include <tenon/drivers/vaapi/objects/task.hpp>

namespace tenon::va {

/// A profile that this driver decodes.
struct DecodeProfile {
  VAProfile profile;
  const char* decoder;       ///< Name of libavcodec's decoder.
  std::uint32_t rt_formats;  ///< RT formats of its surfaces.
  int max_side_px;
};

/// The profiles for which this libavcodec has a decoder.
std::span<const DecodeProfile> decode_profiles();
const DecodeProfile* find_decode_profile(VAProfile profile);

/// @errors std::bad_alloc.
std::unique_ptr<Task> make_decode_task(const DecodeProfile& profile);

}  // namespace tenon::va
