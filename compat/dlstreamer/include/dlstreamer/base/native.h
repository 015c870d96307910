// SPDX-License-Identifier: Apache-2.0
// Between DL Streamer's descriptions and Tenon's. Nothing of DL Streamer's own API.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>

#include "dlstreamer/frame_info.h"
#include "dlstreamer/memory_mapper.h"
#include "dlstreamer/tensor_info.h"

namespace dlstreamer::detail {

inline tenon::Access to_tenon(AccessMode mode) { return static_cast<tenon::Access>(mode); }

struct TypePair {
  DataType ours;
  tenon::ElementType theirs;
};
inline constexpr TypePair kTypePairs[] = {{DataType::UInt8, tenon::ElementType::kU8},
                                          {DataType::Int32, tenon::ElementType::kI32},
                                          {DataType::Int64, tenon::ElementType::kI64},
                                          {DataType::Float32, tenon::ElementType::kF32}};

inline tenon::TensorInfo to_tenon(const TensorInfo& info) {
  tenon::TensorInfo made;
  for (const TypePair& pair : kTypePairs)
    if (pair.ours == info.dtype) made.type = pair.theirs;
  for (const size_t extent : info.shape) made.shape.push_back(extent);
  for (const size_t step : info.stride) made.strides.push_back(static_cast<std::ptrdiff_t>(step));
  return made;
}

/// @errors std::runtime_error: DataType has no such type.
inline TensorInfo from_tenon(const tenon::TensorInfo& info) {
  for (const TypePair& pair : kTypePairs) {
    if (pair.theirs != info.type) continue;
    const tenon::ByteStrides steps = info.strides.empty() ? tenon::packed_strides(info.type, info.shape) : info.strides;
    return TensorInfo({info.shape.begin(), info.shape.end()}, pair.ours, {steps.begin(), steps.end()});
  }
  throw std::runtime_error("dlstreamer: DataType has no " + std::string(tenon::name(info.type)) +
                           ": UInt8, Int32, Int64 and Float32 are all");
}

struct FormatPair {
  ImageFormat ours;
  tenon::PixelFormat theirs;
};
inline constexpr FormatPair kFormatPairs[] = {
    {ImageFormat::BGR, tenon::kBgr24}, {ImageFormat::RGB, tenon::kRgb24},      {ImageFormat::BGRX, tenon::kBgrx},
    {ImageFormat::RGBX, tenon::kRgbx}, {ImageFormat::BGRP, tenon::kBgrPlanar}, {ImageFormat::RGBP, tenon::kRgbPlanar},
    {ImageFormat::NV12, tenon::kNv12}, {ImageFormat::I420, tenon::kI420},      {ImageFormat::BGRX, tenon::kBgra},
    {ImageFormat::RGBX, tenon::kRgba},
};

/// @errors std::runtime_error: ImageFormat has no such format.
inline ImageFormat from_tenon(tenon::PixelFormat format) {
  for (const FormatPair& pair : kFormatPairs)
    if (pair.theirs.fourcc == format.fourcc) return pair.ours;
  throw std::runtime_error("dlstreamer: ImageFormat has no " + tenon::to_string(format));
}

/// Format and size of an image. @errors std::runtime_error: no image, no size, an unknown format.
inline tenon::FrameInfo to_tenon(const FrameInfo& info) {
  if (info.media_type != MediaType::Image || info.tensors.empty())
    throw std::runtime_error("dlstreamer: a frame without the format and the size of an image");
  const ImageInfo image(info.tensors.front());
  for (const FormatPair& pair : kFormatPairs)
    if (static_cast<Format>(pair.ours) == info.format)
      return {pair.theirs, static_cast<uint32_t>(image.width()), static_cast<uint32_t>(image.height())};
  throw std::runtime_error("dlstreamer: no image format of number " + std::to_string(info.format));
}

/// The planes of a frame as DL Streamer has them: [h, w, c] each; planar RGB as one tensor [3, h, w].
/// @errors std::runtime_error: planar RGB whose planes do not follow each other at one distance.
inline std::vector<tenon::Tensor> tensors_of(const tenon::Frame& frame) {
  std::vector<tenon::Tensor> tensors;
  const auto is_planar_rgb = frame.info().format == tenon::kRgbPlanar || frame.info().format == tenon::kBgrPlanar;
  for (const tenon::Tensor& plane : frame.planes()) {
    tenon::TensorInfo info = plane.info();
    const std::size_t pitch = static_cast<std::size_t>(plane.byte_strides()[0]),
                      pixel = static_cast<std::size_t>(plane.byte_strides()[1]);
    if (info.shape.size() == 2) {
      info.shape = {info.shape[0], info.shape[1], 1};
      info.strides = {static_cast<std::ptrdiff_t>(pitch), static_cast<std::ptrdiff_t>(pixel),
                      static_cast<std::ptrdiff_t>(pixel)};
    }
    tensors.emplace_back(info, plane.memory(), plane.offset(), plane.lease(), plane.view());
  }
  if (!is_planar_rgb) return tensors;
  const tenon::Tensor &first = frame.plane(0), &second = frame.plane(1), &third = frame.plane(2);
  const std::size_t distance = second.offset() - first.offset();
  if (first.memory() != second.memory() || first.memory() != third.memory() ||
      third.offset() - second.offset() != distance || second.offset() < first.offset() ||
      first.byte_strides() != second.byte_strides())
    throw std::runtime_error(
        "dlstreamer: planar RGB is one tensor, but the planes do not follow each other at one distance");
  const tenon::TensorInfo whole{
      first.element_type(),
      {3, first.shape()[0], first.shape()[1]},
      {static_cast<std::ptrdiff_t>(distance), first.byte_strides()[0], first.byte_strides()[1]}};
  return {tenon::Tensor(whole, first.memory(), first.offset(), first.lease(), first.view())};
}

/// The reverse of tensors_of(). Planes of one allocation share its first memory, by whatever tensors they came.
/// @errors those of tenon::Frame: tensors that are no planes of the format.
inline tenon::Frame frame_of(const tenon::FrameInfo& info, const std::vector<tenon::Tensor>& tensors) {
  std::vector<tenon::Tensor> planes;
  const auto add = [&](const tenon::Tensor& tensor, std::size_t begin, tenon::Shape shape, tenon::ByteStrides strides) {
    tenon::Ref<tenon::Memory> memory = tensor.memory();
    for (const tenon::Tensor& before : planes)
      if (memory->identity().kind != tenon::MemoryIdentity::Kind::kNone &&
          before.memory()->identity() == memory->identity() && before.memory()->size_bytes() >= memory->size_bytes() &&
          !tensor.view())
        memory = before.memory();
    planes.emplace_back(tenon::TensorInfo{tensor.element_type(), shape, strides}, memory, tensor.offset() + begin,
                        tensor.lease(), tensor.view());
  };
  for (const tenon::Tensor& tensor : tensors) {
    const tenon::Shape& shape = tensor.shape();
    const tenon::ByteStrides& step = tensor.byte_strides();
    if (shape.size() == 3 && (info.format == tenon::kRgbPlanar || info.format == tenon::kBgrPlanar))
      for (std::size_t plane = 0; plane < shape[0]; ++plane)
        add(tensor, plane * static_cast<std::size_t>(step[0]), {shape[1], shape[2]}, {step[1], step[2]});
    else if (shape.size() == 3 && shape[2] == 1)
      add(tensor, 0, {shape[0], shape[1]}, {step[0], step[1]});
    else
      add(tensor, 0, shape, step);
  }
  return tenon::Frame(info, std::move(planes));
}

/// What a frame of Tenon's is like.
inline FrameInfo from_tenon(const tenon::Frame& frame, MemoryType memory_type) {
  FrameInfo info(from_tenon(frame.info().format), memory_type);
  for (const tenon::Tensor& tensor : tensors_of(frame)) info.tensors.push_back(from_tenon(tensor.info()));
  return info;
}

}  // namespace dlstreamer::detail
