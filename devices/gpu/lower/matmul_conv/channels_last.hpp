// SPDX-License-Identifier: Apache-2.0
// Pictures with their channels last, as kernels that read whole chunks take them.
#pragma once

#include <cstdint>
#include <functional>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::gpu_device {

/// [images, channels, lines, pixels]; the distances between neighbours in elements.
struct Picture {
  View view;
  std::size_t images = 0, channels = 0, lines = 1, pixels = 0;
  std::int64_t image_step = 0, line_step = 0, pixel_step = 0;
};

/// A view [N, C, W] or [N, C, H, W] as a picture; its own steps.
Picture picture_of(const View& view);

/// Whether a CPU's kernels keep sums in registers; values that lie as f16 have simpler ones.
inline bool takes_register_tiles(const Target& target) { return target.is_cpu && !target.stores_f16; }

/// Whether pictures are computed with their channels last.
inline bool takes_channels_last(const Target& target) { return takes_matrices(target) || takes_register_tiles(target); }

/// Whether kernels that read 8 channels at once can read it.
bool is_wide_picture(const Builder& builder, const View& view);

/// A copy with its channels last, `wide` a place, and a frame of zeros.
struct Frame {
  std::size_t wide = 0, left = 0, right = 0, top = 0, bottom = 0;
};
Picture framed(Builder& builder, const Node& node, const View& view, const Frame& frame);
/// The frame that holds a window's padding, so that no tap is outside; its `wide` is 0. @pre paddings are not negative.
Frame frame_of(const Picture& from, const Spatial3& window);
/// The same of 8-bit numbers (their view without a meaning), with a frame of `zero`.
Picture framed_numbers(Builder& builder, const Node& node, const View& view, const Frame& frame, std::int32_t zero);

/// The view itself, or a copy: channels last, in whole chunks.
Picture wide_picture(Builder& builder, const Node& node, const View& view);

/// {image}, {lines, pixels}, {channels}: as these kernels count.
AxisGroups picture_groups(const View& out);

/// What a kernel computes with channels last, 8 of a pixel in each work-item.
/// @param pixels  The number of pixels in an output picture. @param text  Reads X by X_IMAGE, X_LINE, X_PIXEL and CHANNELS, and ends with
/// STORE8(v, image, pixel, channel). @param prepare  Adds what else it reads.
Producer wide_picture_producer(Builder& builder, const Node& node, const char* kind, const Picture& data,
                               std::size_t pixels, const char* text, std::function<void(Kernel&)> prepare);
/// Sets the node's output to that.
void set_wide_picture(Builder& builder, const Node& node, const char* kind, const Picture& data, std::size_t pixels,
                      const char* text, std::function<void(Kernel&)> prepare);

/// Whether a window moves over one or two axes.
bool is_planar(const Spatial3& window);

}  // namespace tenon::inline v1::gpu_device
