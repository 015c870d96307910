// SPDX-License-Identifier: Apache-2.0
// Copies sample by sample, with a special loop for decoders' output; libswscale does all other conversions.
#include <tenon/drivers/vaapi/objects/convert.hpp>

#include <algorithm>
#include <array>
#include <cstring>

extern "C" {
#include <libavutil/common.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace tenon::va {
namespace {

/// One component of a picture: position and depth of its samples.
struct Samples {
  std::uint8_t* data;
  std::ptrdiff_t pitch;
  int step, width, height, bytes, shift, depth;
};

Samples samples_of(const Pixels& pixels, const AVPixFmtDescriptor& about, int component) {
  const AVComponentDescriptor& where = about.comp[component];
  const auto plane = static_cast<std::size_t>(where.plane);
  const bool chroma = component == 1 || component == 2;
  const int across = chroma ? about.log2_chroma_w : 0, down = chroma ? about.log2_chroma_h : 0;
  return {pixels.data[plane] + where.offset,
          pixels.pitch[plane],
          where.step,
          AV_CEIL_RSHIFT(pixels.width_px, across),
          AV_CEIL_RSHIFT(pixels.height_px, down),
          where.depth > 8 ? 2 : 1,
          where.shift,
          where.depth};
}

template <class To, class From>
void copy_row(std::uint8_t* to, int to_step, const std::uint8_t* from, int from_step, int count, int from_shift,
              int grow, int to_shift) {
  for (int i = 0; i < count; ++i) {
    From in;
    std::memcpy(&in, from + std::ptrdiff_t{i} * from_step, sizeof in);
    const unsigned value = unsigned{in} >> from_shift;
    const auto out = static_cast<To>((grow >= 0 ? value << grow : value >> -grow) << to_shift);
    std::memcpy(to + std::ptrdiff_t{i} * to_step, &out, sizeof out);
  }
}

void copy_component(const Samples& to, const Samples& from) {
  if (to.data == from.data) return;  // The plane was decoded in place.
  const bool same = to.bytes == from.bytes && to.depth == from.depth && to.shift == from.shift;
  const bool dense = to.step == to.bytes && from.step == from.bytes;
  const int grow = to.depth - from.depth;
  for (int y = 0; y < to.height; ++y) {
    std::uint8_t* row = to.data + y * to.pitch;
    const std::uint8_t* source = from.data + y * from.pitch;
    const auto copy = [&](auto copy_one) {
      copy_one(row, to.step, source, from.step, to.width, from.shift, grow, to.shift);
    };
    if (same && dense)
      std::memcpy(row, source, static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.bytes));
    else if (to.bytes == 1)
      from.bytes == 1 ? copy(copy_row<std::uint8_t, std::uint8_t>) : copy(copy_row<std::uint8_t, std::uint16_t>);
    else
      from.bytes == 1 ? copy(copy_row<std::uint16_t, std::uint8_t>) : copy(copy_row<std::uint16_t, std::uint16_t>);
  }
}

/// Interleaves two planes: a decoder's planar chroma becomes that of NV12 or P010. Vectorised by the compiler.
template <class T>
void interleave(const Samples& to, const Samples& u, const Samples& v) {
  for (int y = 0; y < to.height; ++y) {
    T* __restrict row = reinterpret_cast<T*>(to.data + y * to.pitch);
    const T* __restrict first = reinterpret_cast<const T*>(u.data + y * u.pitch);
    const T* __restrict second = reinterpret_cast<const T*>(v.data + y * v.pitch);
    for (int x = 0; x < to.width; ++x) {
      row[2 * x] = static_cast<T>(first[x] << to.shift);
      row[2 * x + 1] = static_cast<T>(second[x] << to.shift);
    }
  }
}

bool is_aligned(const Samples& samples) {
  return reinterpret_cast<std::uintptr_t>(samples.data) % 2 == 0 && samples.pitch % 2 == 0;
}

bool interleaves(const Samples& to_u, const Samples& to_v, const Samples& u, const Samples& v) {
  return to_v.data == to_u.data + to_u.bytes && to_u.step == 2 * to_u.bytes && u.step == u.bytes && v.step == v.bytes &&
         u.bytes == to_u.bytes && u.depth == to_u.depth && u.shift == 0 && v.shift == 0 &&
         (u.bytes == 1 || (is_aligned(to_u) && is_aligned(u) && is_aligned(v)));
}

bool correspond(const AVPixFmtDescriptor& to, const AVPixFmtDescriptor& from) {
  constexpr std::uint64_t kOther = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                                   AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
  return !((to.flags | from.flags) & kOther) && to.nb_components == from.nb_components &&
         to.log2_chroma_w == from.log2_chroma_w && to.log2_chroma_h == from.log2_chroma_h &&
         ((to.flags ^ from.flags) & AV_PIX_FMT_FLAG_RGB) == 0 && to.comp[0].depth <= 16 && from.comp[0].depth <= 16 &&
         (to.comp[0].depth > 8 ? to.comp[0].step >= 2 : true);
}

}  // namespace

bool copy_samples(const Pixels& to, const Pixels& from) {
  if (to.format == from.format) {
    Pixels target = to;
    std::array<const std::uint8_t*, 4> planes;
    std::copy(from.data.begin(), from.data.end(), planes.begin());
    av_image_copy(target.data.data(), target.pitch.data(), planes.data(), from.pitch.data(), to.format, to.width_px,
                  to.height_px);
    return true;
  }
  const AVPixFmtDescriptor& there = *av_pix_fmt_desc_get(to.format);
  const AVPixFmtDescriptor& here = *av_pix_fmt_desc_get(from.format);
  if (!correspond(there, here)) return false;
  int component = 0;
  for (; component < there.nb_components; ++component) {
    if (component == 1 && there.nb_components == 3) {
      const Samples to_u = samples_of(to, there, 1), to_v = samples_of(to, there, 2);
      const Samples u = samples_of(from, here, 1), v = samples_of(from, here, 2);
      if (interleaves(to_u, to_v, u, v)) {
        to_u.bytes == 1 ? interleave<std::uint8_t>(to_u, u, v) : interleave<std::uint16_t>(to_u, u, v);
        return true;
      }
    }
    copy_component(samples_of(to, there, component), samples_of(from, here, component));
  }
  return true;
}

Scaler::~Scaler() { sws_freeContext(context_); }

bool Scaler::run(const Pixels& to, const Colour& to_colour, const Pixels& from, const Colour& from_colour, int flags) {
  context_ = sws_getCachedContext(context_, from.width_px, from.height_px, from.format, to.width_px, to.height_px,
                                  to.format, flags | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr);
  if (!context_) return false;
  // Its failure is ignored: it fails for formats without a colour matrix, which need none.
  sws_setColorspaceDetails(context_, sws_getCoefficients(from_colour.matrix), from_colour.full_range,
                           sws_getCoefficients(to_colour.matrix), to_colour.full_range, 0, 1 << 16, 1 << 16);
  return sws_scale(context_, from.data.data(), from.pitch.data(), 0, from.height_px, to.data.data(), to.pitch.data()) >
         0;
}

bool convert(const Pixels& to, const Pixels& from) {
  if (copy_samples(to, from)) return true;
  Scaler scaler;
  return scaler.run(to, {}, from, {}, SWS_BICUBIC);
}

}  // namespace tenon::va
