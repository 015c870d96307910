// SPDX-License-Identifier: Apache-2.0
// What frames of a stream are like.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "dlstreamer/frame.h"
#include "dlstreamer/image_info.h"

namespace dlstreamer {

struct FrameInfo {
  TensorInfoVector tensors;
  MediaType media_type = MediaType::Any;
  MemoryType memory_type = MemoryType::Any;
  Format format = 0;

  FrameInfo() = default;
  FrameInfo(MediaType _media_type, MemoryType _memory_type = MemoryType::Any, TensorInfoVector _tensors = {})
      : tensors(std::move(_tensors)), media_type(_media_type), memory_type(_memory_type) {}
  FrameInfo(ImageFormat image_format, MemoryType _memory_type = MemoryType::CPU, TensorInfoVector _tensors = {})
      : tensors(std::move(_tensors)),
        media_type(MediaType::Image),
        memory_type(_memory_type),
        format(static_cast<Format>(image_format)) {}

  bool operator<(const FrameInfo& other) const {
    return std::tie(tensors, media_type, memory_type, format) <
           std::tie(other.tensors, other.media_type, other.memory_type, other.format);
  }
  bool operator==(const FrameInfo& other) const = default;
};

using FrameInfoVector = std::vector<FrameInfo>;

}  // namespace dlstreamer
