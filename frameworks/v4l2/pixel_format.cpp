// SPDX-License-Identifier: Apache-2.0
// V4L2's formats and colour, and where planes lie in a buffer.
#include <tenon/frameworks/v4l2/pixel_format.hpp>

#include <cctype>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

TENON_INLINE const FormatMapping* find_mapping(std::uint32_t fourcc) {
  for (const FormatMapping& mapping : detail::kMappings)
    if (mapping.v4l2 == fourcc) return &mapping;
  return nullptr;
}

TENON_INLINE const FormatMapping* find_mapping(PixelFormat format, std::size_t memories) {
  for (const FormatMapping& mapping : detail::kMappings)
    if (mapping.format == format && (memories == 0 || mapping.memories == memories)) return &mapping;
  return nullptr;
}

TENON_INLINE std::string fourcc_name(std::uint32_t fourcc) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) {
    const auto letter = static_cast<char>(fourcc >> shift & 0x7f);
    text += std::isprint(static_cast<unsigned char>(letter)) ? letter : '?';
  }
  while (text.ends_with(' ')) text.pop_back();
  return text + (fourcc & 1u << 31 ? "-BE" : "");
}

TENON_INLINE ColourSpace colour_space(const Colorimetry& colour) {
  switch (colour.ycbcr_enc) {
    case V4L2_YCBCR_ENC_601:
    case V4L2_YCBCR_ENC_XV601:
    case 5:  // V4L2_YCBCR_ENC_SYCC, which newer headers drop.
      return ColourSpace::kBt601;
    case V4L2_YCBCR_ENC_709:
    case V4L2_YCBCR_ENC_XV709:
      return ColourSpace::kBt709;
    case V4L2_YCBCR_ENC_BT2020:
    case V4L2_YCBCR_ENC_BT2020_CONST_LUM:
      return ColourSpace::kBt2020;
    case V4L2_YCBCR_ENC_SMPTE240M:
      return ColourSpace::kSmpte240m;
    case V4L2_YCBCR_ENC_DEFAULT:
      break;
    default:
      return ColourSpace::kUnknown;
  }
  switch (colour.colorspace) {
    case V4L2_COLORSPACE_REC709:
    case V4L2_COLORSPACE_DCI_P3:
      return ColourSpace::kBt709;
    case V4L2_COLORSPACE_BT2020:
      return ColourSpace::kBt2020;
    case V4L2_COLORSPACE_SMPTE240M:
      return ColourSpace::kSmpte240m;
    case V4L2_COLORSPACE_SMPTE170M:
    case V4L2_COLORSPACE_470_SYSTEM_M:
    case V4L2_COLORSPACE_470_SYSTEM_BG:
    case V4L2_COLORSPACE_SRGB:
    case V4L2_COLORSPACE_OPRGB:
    case V4L2_COLORSPACE_JPEG:
      return ColourSpace::kBt601;
    default:
      return ColourSpace::kUnknown;
  }
}

TENON_INLINE ColourRange colour_range(const Colorimetry& colour) {
  if (colour.quantization == V4L2_QUANTIZATION_FULL_RANGE) return ColourRange::kFull;
  if (colour.quantization == V4L2_QUANTIZATION_LIM_RANGE) return ColourRange::kLimited;
  return colour.colorspace == V4L2_COLORSPACE_JPEG ? ColourRange::kFull : ColourRange::kUnknown;
}

TENON_INLINE Colorimetry colorimetry(ColourSpace space, ColourRange range) {
  Colorimetry colour;
  if (space == ColourSpace::kBt601) colour = {V4L2_COLORSPACE_SMPTE170M, V4L2_YCBCR_ENC_601};
  if (space == ColourSpace::kBt709) colour = {V4L2_COLORSPACE_REC709, V4L2_YCBCR_ENC_709};
  if (space == ColourSpace::kSmpte240m) colour = {V4L2_COLORSPACE_SMPTE240M, V4L2_YCBCR_ENC_SMPTE240M};
  if (space == ColourSpace::kBt2020) colour = {V4L2_COLORSPACE_BT2020, V4L2_YCBCR_ENC_BT2020};
  if (range == ColourRange::kFull) colour.quantization = V4L2_QUANTIZATION_FULL_RANGE;
  if (range == ColourRange::kLimited) colour.quantization = V4L2_QUANTIZATION_LIM_RANGE;
  return colour;
}

TENON_INLINE std::string to_string(const v4l2_format& format) {
  const bool many = V4L2_TYPE_IS_MULTIPLANAR(format.type);
  const std::uint32_t fourcc = many ? format.fmt.pix_mp.pixelformat : format.fmt.pix.pixelformat;
  const std::uint32_t width = many ? format.fmt.pix_mp.width : format.fmt.pix.width;
  const std::uint32_t height = many ? format.fmt.pix_mp.height : format.fmt.pix.height;
  return fourcc_name(fourcc) + " " + std::to_string(width) + "x" + std::to_string(height);
}

namespace detail {

TENON_INLINE bool is_whole_picture(std::uint32_t field) {
  return field == V4L2_FIELD_NONE || field == V4L2_FIELD_ANY || field == V4L2_FIELD_INTERLACED ||
         field == V4L2_FIELD_INTERLACED_TB || field == V4L2_FIELD_INTERLACED_BT;
}

TENON_INLINE Said said_by(const v4l2_format& format) {
  if (!V4L2_TYPE_IS_MULTIPLANAR(format.type)) {
    const v4l2_pix_format& pix = format.fmt.pix;
    return {
        pix.pixelformat,    pix.width,      pix.height, pix.field, 1, {pix.colorspace, pix.ycbcr_enc, pix.quantization},
        {pix.bytesperline}, {pix.sizeimage}};
  }
  const v4l2_pix_format_mplane& pix = format.fmt.pix_mp;
  Said said{pix.pixelformat,
            pix.width,
            pix.height,
            pix.field,
            pix.num_planes,
            {pix.colorspace, pix.ycbcr_enc, pix.quantization},
            {},
            {}};
  for (std::size_t m = 0; m < 4 && m < pix.num_planes; ++m) {
    said.pitch[m] = pix.plane_fmt[m].bytesperline;
    said.size[m] = pix.plane_fmt[m].sizeimage;
  }
  return said;
}

}  // namespace detail

TENON_INLINE BufferLayout make_layout(const v4l2_format& format, const std::string& device) {
  const detail::Said said = detail::said_by(format);
  const std::string what = "v4l2: " + device + ": " + to_string(format);
  const FormatMapping* mapping = find_mapping(said.fourcc);
  if (!mapping)
    throw Error(Code::kUnimplemented,
                what +
                    ": no Tenon format has these planes (compressed, tiled or packed); choose another format, or "
                    "decode it with FFmpeg");
  if (!detail::is_whole_picture(said.field))
    throw Error(Code::kUnimplemented, what + ": its buffers hold single fields, not pictures (V4L2 field order " +
                                          std::to_string(said.field) +
                                          "); choose a progressive input, or one that interleaves its fields");
  const auto lie = [&](const std::string& contradiction) {
    return Error(Code::kInternal, what + ": its driver contradicts itself: " + contradiction);
  };
  if (said.width == 0 || said.height == 0 || said.width > 1u << 16 || said.height > 1u << 16)
    throw lie("extents must be 1..65536");
  if (said.memories != mapping->memories)
    throw lie(std::to_string(said.memories) + " buffers per picture, the format has " +
              std::to_string(mapping->memories));
  BufferLayout layout;
  const PixelFormatInfo& planes = format_info(mapping->format);
  layout.fourcc = said.fourcc;
  layout.field = said.field == V4L2_FIELD_ANY ? std::uint32_t{V4L2_FIELD_NONE} : said.field;
  layout.info.format = mapping->format;
  layout.info.width_px = said.width;
  layout.info.height_px = said.height;
  if (planes.model == ColourModel::kYuv) layout.info.colour_space = colour_space(said.colour);
  layout.info.colour_range = colour_range(said.colour);
  layout.memories = mapping->memories;
  layout.planes = planes.plane_count;
  for (std::size_t p = 0; p < layout.planes; ++p) {
    const std::size_t m = layout.memories == 1 ? 0 : p;
    const PlaneExtent extent = plane_extent(layout.info, planes, p);
    BufferLayout::Plane& plane = layout.plane[p];
    plane.memory = m;
    // A pitch belongs to the buffer's first plane; rows of the others are as much shorter or longer as their pixels.
    plane.pitch_bytes = said.pitch[m];
    if (m == 0 && p > 0)
      plane.pitch_bytes = plane.pitch_bytes * planes.planes[p].channels >> planes.planes[p].width_shift;
    plane.offset = layout.used_bytes[m];
    if (plane.pitch_bytes < extent.row_bytes || plane.pitch_bytes % size_bytes(planes.sample) != 0)
      throw lie("plane " + std::to_string(p) + " has a pitch of " + std::to_string(plane.pitch_bytes) +
                " bytes, a row has " + std::to_string(extent.row_bytes));
    layout.used_bytes[m] = plane.offset + plane.pitch_bytes * extent.height_px;
    layout.size_bytes[m] = said.size[m];
  }
  for (std::size_t p = 0; p < layout.planes; ++p) {
    const BufferLayout::Plane& plane = layout.plane[p];
    const PlaneExtent extent = plane_extent(layout.info, planes, p);
    // The last row may end without padding.
    const std::size_t end = plane.offset + plane.pitch_bytes * (extent.height_px - 1) + extent.row_bytes;
    if (end > said.size[plane.memory])
      throw lie("plane " + std::to_string(p) + " ends at byte " + std::to_string(end) + " of a buffer of " +
                std::to_string(said.size[plane.memory]));
    layout.used_bytes[plane.memory] = end;
  }
  return layout;
}

TENON_INLINE v4l2_format make_format(std::uint32_t type, const FrameInfo& info, const FormatMapping& mapping,
                                     std::size_t pitch_bytes) {
  const Colorimetry colour = colorimetry(info.colour_space, info.colour_range);
  v4l2_format format{};
  format.type = type;
  if (V4L2_TYPE_IS_MULTIPLANAR(type)) {
    v4l2_pix_format_mplane& pix = format.fmt.pix_mp;
    pix.pixelformat = mapping.v4l2;
    pix.width = info.width_px;
    pix.height = info.height_px;
    pix.field = V4L2_FIELD_ANY;
    pix.colorspace = colour.colorspace;
    pix.ycbcr_enc = static_cast<std::uint8_t>(colour.ycbcr_enc);
    pix.quantization = static_cast<std::uint8_t>(colour.quantization);
    pix.num_planes = mapping.memories;
    pix.plane_fmt[0].bytesperline = static_cast<std::uint32_t>(pitch_bytes);
  } else {
    v4l2_pix_format& pix = format.fmt.pix;
    pix.pixelformat = mapping.v4l2;
    pix.width = info.width_px;
    pix.height = info.height_px;
    pix.field = V4L2_FIELD_ANY;
    pix.colorspace = colour.colorspace;
    pix.ycbcr_enc = colour.ycbcr_enc;
    pix.quantization = colour.quantization;
    pix.priv = V4L2_PIX_FMT_PRIV_MAGIC;  // Without it drivers ignore what stands behind colorspace.
    pix.bytesperline = static_cast<std::uint32_t>(pitch_bytes);
  }
  return format;
}

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
