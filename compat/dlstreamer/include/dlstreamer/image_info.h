// SPDX-License-Identifier: Apache-2.0
// Formats of images, and what the axes of an image's tensor are.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dlstreamer/frame.h"

namespace dlstreamer {
namespace detail {

constexpr Format image_code(const char (&name)[5]) { return name[0] | name[1] << 8 | name[2] << 16 | name[3] << 24; }

}  // namespace detail

enum class ImageFormat : Format {
  BGR = detail::image_code("BGR "),
  RGB = detail::image_code("RGB "),
  BGRX = detail::image_code("BGRX"),
  RGBX = detail::image_code("RGBX"),
  BGRP = detail::image_code("BGRP"),
  RGBP = detail::image_code("RGBP"),
  NV12 = detail::image_code("NV12"),
  I420 = detail::image_code("I420"),
};

inline std::string image_format_to_string(ImageFormat format) {
  const auto code = static_cast<Format>(format);
  std::string name;
  for (int shift = 0; shift < 32; shift += 8) {
    const char letter = static_cast<char>(code >> shift & 0x7f);
    if (letter > ' ') name += letter;
  }
  return name;
}

/// Which axis is what.
class ImageLayout {
 public:
  enum Value { Any = 0, NCHW = 1, NHWC = 2, CHW = 128, HWC = 129, HW = 192 };

  ImageLayout() = default;
  ImageLayout(Value value) : _value(value) {}
  /// Any for a name that is none.
  explicit ImageLayout(const std::string& str) {
    for (const Value value : {HW, CHW, HWC, NCHW, NHWC})
      if (ImageLayout(value).to_string() == str) _value = value;
  }
  /// As extents look like: at most four channels, more than four rows and columns. Any where they look like nothing.
  explicit ImageLayout(const std::vector<size_t>& shape) {
    const size_t rank = shape.size();
    if (rank == 2) _value = HW;
    if (rank != 3 && rank != 4) return;
    const size_t a = shape[rank - 3], b = shape[rank - 2], c = shape[rank - 1];
    if (a > 4 && b > 4 && c <= 4) _value = rank == 3 ? HWC : NHWC;
    if (a <= 4 && b > 4 && c > 4) _value = rank == 3 ? CHW : NCHW;
  }

  operator Value() const { return _value; }
  explicit operator bool() const { return _value != Any; }
  std::string to_string() const {
    switch (_value) {
      case HW:
        return "HW";
      case CHW:
        return "CHW";
      case HWC:
        return "HWC";
      case NCHW:
        return "NCHW";
      case NHWC:
        return "NHWC";
      case Any:
        break;
    }
    return "Any";
  }
  /// @name The axis, or -1 where the layout has none such.
  int w_position() const { return position('W'); }
  int h_position() const { return position('H'); }
  int c_position() const { return position('C'); }
  int n_position() const { return position('N'); }

 private:
  int position(char axis) const {
    const size_t at = _value == Any ? std::string::npos : to_string().find(axis);
    return at == std::string::npos ? -1 : static_cast<int>(at);
  }

  Value _value = Any;
};

/// A tensor seen as an image.
struct ImageInfo {
  ImageInfo(const TensorInfo& info) : _info(info), _layout(info.shape) {}

  ImageLayout layout() const { return _layout; }
  /// @errors std::runtime_error: the extents look like no image.
  size_t width() const { return _info.shape[axis(_layout.w_position(), "width")]; }
  size_t height() const { return _info.shape[axis(_layout.h_position(), "height")]; }
  /// 1 where there is no such axis.
  size_t channels() const { return _layout.c_position() < 0 ? 1 : _info.shape[axis(_layout.c_position(), "channels")]; }
  size_t batch() const { return _layout.n_position() < 0 ? 1 : _info.shape[axis(_layout.n_position(), "batch")]; }
  /// @name Bytes between neighbours.
  size_t width_stride() const { return _info.stride[axis(_layout.w_position(), "width")]; }
  size_t height_stride() const { return _info.stride[axis(_layout.h_position(), "height")]; }
  size_t channels_stride() const {
    return _layout.c_position() < 0 ? _info.itemsize() : _info.stride[axis(_layout.c_position(), "channels")];
  }
  TensorInfo info() const { return _info; }

 private:
  size_t axis(int position, const char* name) const {
    if (position >= 0) return static_cast<size_t>(position);
    std::string shape;
    for (const size_t extent : _info.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    throw std::runtime_error("ImageInfo: a tensor of [" + shape + "] has no " + name +
                             ": it looks like none of HW, HWC, CHW, NHWC, NCHW");
  }

  TensorInfo _info;
  ImageLayout _layout;
};

}  // namespace dlstreamer
