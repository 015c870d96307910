// SPDX-License-Identifier: Apache-2.0
// The display matrix: how a stored picture must be rotated to be upright.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

extern "C" {
#include <libavutil/display.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

inline constexpr std::size_t kMatrixBytes = 9 * sizeof(std::int32_t);

/// None for matrices that mirror, or rotate by other than quarter turns: such pictures stay as stored.
inline Rotation rotation_of_matrix(const void* data) {
  std::int32_t matrix[9];
  std::memcpy(matrix, data, kMatrixBytes);
  const double determinant = static_cast<double>(matrix[0]) * matrix[4] - static_cast<double>(matrix[1]) * matrix[3];
  const double clockwise = -av_display_rotation_get(matrix);
  if (!(determinant > 0) || !std::isfinite(clockwise)) return Rotation::kNone;
  const long quarters = std::lround(clockwise / 90);
  if (std::abs(clockwise - 90.0 * static_cast<double>(quarters)) > 1) return Rotation::kNone;
  return static_cast<Rotation>((quarters % 4 + 4) % 4);
}

inline void write_matrix(Rotation rotation, void* data) {
  std::int32_t matrix[9];
  av_display_rotation_set(matrix, degrees(rotation));
  std::memcpy(data, matrix, kMatrixBytes);
}

}  // namespace detail

/// Rotation in the frame's side data. @source libavutil/frame.h AV_FRAME_DATA_DISPLAYMATRIX
inline Rotation rotation_of(const AVFrame& frame) {
  const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  return side && side->size >= detail::kMatrixBytes ? detail::rotation_of_matrix(side->data) : Rotation::kNone;
}

/// Rotation that the container gives for the stream. @source libavcodec/packet.h AV_PKT_DATA_DISPLAYMATRIX
inline Rotation rotation_of(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* side = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return side && side->size >= detail::kMatrixBytes ? detail::rotation_of_matrix(side->data) : Rotation::kNone;
#else
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return data && size >= detail::kMatrixBytes ? detail::rotation_of_matrix(data) : Rotation::kNone;
#endif
}

/// Writes it into the frame's side data. @errors kResourceExhausted
inline void set_rotation(AVFrame& frame, Rotation rotation) {
  if (rotation_of(frame) == rotation) return;
  av_frame_remove_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  if (rotation == Rotation::kNone) return;
  AVFrameSideData* side = av_frame_new_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX, detail::kMatrixBytes);
  if (!side) throw detail::make_error(AVERROR(ENOMEM), "FFmpeg: no side data", "av_frame_new_side_data");
  detail::write_matrix(rotation, side->data);
}

/// Writes it into the stream's side data; call before the container's header is written. @errors kResourceExhausted
inline void set_rotation(AVStream& stream, Rotation rotation) {
  if (rotation == Rotation::kNone) return;
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  AVPacketSideData* side =
      av_packet_side_data_new(&stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX, detail::kMatrixBytes, 0);
  std::uint8_t* data = side ? side->data : nullptr;
#else
  std::uint8_t* data = av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, detail::kMatrixBytes);
#endif
  if (!data) throw detail::make_error(AVERROR(ENOMEM), "FFmpeg: no side data", "av_stream_new_side_data");
  detail::write_matrix(rotation, data);
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
