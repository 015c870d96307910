// SPDX-License-Identifier: Apache-2.0
// Layers are read when they are rendered, because their structures point into the client's memory, and drawn at the
// end.
#include <tenon/drivers/vaapi/process/process_task.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/drivers/vaapi/objects/canvas.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>
#include <tenon/drivers/vaapi/objects/enumeration.hpp>
#include <tenon/drivers/vaapi/process/deinterlace.hpp>
#include <tenon/drivers/vaapi/process/filters.hpp>
#include <tenon/drivers/vaapi/process/orient.hpp>

extern "C" {
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace tenon::va {
namespace {

constexpr std::size_t kMaxLayers = 64;
VAProcColorStandardType kStandards[] = {
    VAProcColorStandardBT601, VAProcColorStandardBT709,     VAProcColorStandardSMPTE170M, VAProcColorStandardBT470BG,
    VAProcColorStandardSRGB,  VAProcColorStandardSMPTE240M, VAProcColorStandardBT2020,    VAProcColorStandardExplicit};

struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Rectangle&) const = default;
  bool lies_in(const Rectangle& all) const {
    return x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= all.width && y + height <= all.height;
  }
};

Rectangle whole(const Surface& surface) {
  return {0, 0, static_cast<int>(surface.width_px), static_cast<int>(surface.height_px)};
}

std::optional<Rectangle> read(const VARectangle* region) {
  if (!region) return std::nullopt;
  return Rectangle{region->x, region->y, region->width, region->height};
}

/// Whether the standard is "none" or one that the caps list.
bool is_standard(std::uint32_t standard) {
  return standard == VAProcColorStandardNone ||
         std::find(std::begin(kStandards), std::end(kStandards), standard) != std::end(kStandards);
}

/// libavutil's number of the matrix, and the range.
Colour colour_of(std::uint32_t standard, const VAProcColorProperties& explicitly) {
  Colour colour;
  colour.full_range = explicitly.color_range == VA_SOURCE_RANGE_FULL;
  switch (standard) {
    case VAProcColorStandardBT709:
    case VAProcColorStandardSRGB:
      colour.matrix = SWS_CS_ITU709;
      break;
    case VAProcColorStandardSMPTE240M:
      colour.matrix = SWS_CS_SMPTE240M;
      break;
    case VAProcColorStandardBT2020:
      colour.matrix = SWS_CS_BT2020;
      break;
    case VAProcColorStandardExplicit:
      // ITU-T H.273's numbers, which libswscale has too; 0 (RGB), 2 (unknown) and 3 do not name a matrix.
      if (explicitly.matrix_coefficients > 3 || explicitly.matrix_coefficients == 1)
        colour.matrix = std::min<int>(explicitly.matrix_coefficients, SWS_CS_BT2020);
      break;
    default:
      break;
  }
  return colour;
}

int scaling_flags(std::uint32_t filter_flags) {
  switch (filter_flags & VA_FILTER_INTERPOLATION_MASK) {
    case VA_FILTER_INTERPOLATION_NEAREST_NEIGHBOR:
      return SWS_POINT;
    case VA_FILTER_INTERPOLATION_BILINEAR:
      return SWS_BILINEAR;
    default:
      return (filter_flags & VA_FILTER_SCALING_MASK) == VA_FILTER_SCALING_FAST ? SWS_FAST_BILINEAR : SWS_BICUBIC;
  }
}

/// One pipeline buffer, with the data to which it points.
struct Layer {
  Ref<Surface> source, past;  ///< `past` is the previous frame, if the filter needs it and the client has it.
  std::optional<Deinterlacing> filter;
  std::optional<Rectangle> from, to;
  Colour from_colour, to_colour;
  bool names_colours = false;
  std::uint32_t background = 0;
  int flags = 0, quarters = 0;
  bool mirror_across = false, mirror_down = false;
  int alpha = 256;  ///< In units of 1/256.
};

class ProcessTask final : public Task {
 public:
  bool takes(VABufferType type) const override {
    return type == VAProcPipelineParameterBufferType || type == VAProcFilterParameterBufferType;
  }
  void begin() override { layers_.clear(); }

  VAStatus render(Ref<Buffer> buffer) override {
    if (buffer->type != VAProcPipelineParameterBufferType) return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    const auto bytes = buffer->used();
    VAProcPipelineParameterBuffer given;
    if (bytes.size() < sizeof given) return VA_STATUS_ERROR_INVALID_BUFFER;
    if (layers_.size() == kMaxLayers) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    std::memcpy(&given, bytes.data(), sizeof given);
    Layer layer;
    if (const VAStatus status = read_layer(*buffer->display(), given, layer)) return status;
    layers_.push_back(std::move(layer));
    return VA_STATUS_SUCCESS;
  }

  VAStatus end(Surface& target) override {
    const std::vector<Layer> layers = std::exchange(layers_, {});
    if (layers.empty()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (const Layer& layer : layers) {
      if (layer.source.get() == &target || !layer.from.value_or(whole(*layer.source)).lies_in(whole(*layer.source)) ||
          !layer.to.value_or(whole(target)).lies_in(whole(target)))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    const SurfaceAccess writes(target, Access::kReadWrite);
    bool is_first = true;
    for (const Layer& layer : layers) {
      if (std::exchange(is_first, false) && layer.background >> 24 &&
          layer.to.value_or(whole(target)) != whole(target) && !fill(target, layer))
        return VA_STATUS_ERROR_OPERATION_FAILED;
      if (!draw(target, layer)) return VA_STATUS_ERROR_OPERATION_FAILED;
    }
    target.error = VA_STATUS_SUCCESS;
    return VA_STATUS_SUCCESS;
  }

 private:
  static VAStatus read_layer(const Display& display, const VAProcPipelineParameterBuffer& given, Layer& layer) {
    layer.source = acquire<Surface>(display, given.surface);
    if (!layer.source) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (const VAStatus status = read_filters(display, given.filters, given.num_filters, layer.filter)) return status;
    if (const VAStatus status = read_past(display, given, layer)) return status;
    const std::uint32_t from = number_of(given.surface_color_standard), to = number_of(given.output_color_standard);
    if (!is_standard(from) || !is_standard(to)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (given.num_additional_outputs > 0 || given.rotation_state > VA_ROTATION_270 ||
        given.mirror_state > (VA_MIRROR_HORIZONTAL | VA_MIRROR_VERTICAL))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    layer.from = read(given.surface_region);
    layer.to = read(given.output_region);
    layer.from_colour = colour_of(from, given.input_color_properties);
    layer.to_colour = colour_of(to, given.output_color_properties);
    // A side without a standard takes that of the other side.
    if (from == VAProcColorStandardNone) layer.from_colour.matrix = layer.to_colour.matrix;
    if (to == VAProcColorStandardNone) layer.to_colour.matrix = layer.from_colour.matrix;
    if (given.input_color_properties.color_range == VA_SOURCE_RANGE_UNKNOWN)
      layer.from_colour.full_range = layer.to_colour.full_range;
    if (given.output_color_properties.color_range == VA_SOURCE_RANGE_UNKNOWN)
      layer.to_colour.full_range = layer.from_colour.full_range;
    layer.background = given.output_background_color;
    layer.flags = scaling_flags(given.filter_flags);
    layer.quarters = static_cast<int>(given.rotation_state);
    layer.mirror_across = given.mirror_state & VA_MIRROR_HORIZONTAL;
    layer.mirror_down = given.mirror_state & VA_MIRROR_VERTICAL;
    if (!given.blend_state) return VA_STATUS_SUCCESS;
    if (given.blend_state->flags & ~std::uint32_t{VA_BLEND_GLOBAL_ALPHA}) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (given.blend_state->flags) {
      const float alpha = given.blend_state->global_alpha;
      if (!(alpha >= 0 && alpha <= 1)) return VA_STATUS_ERROR_INVALID_PARAMETER;
      layer.alpha = static_cast<int>(alpha * 256 + 0.5f);
    }
    return VA_STATUS_SUCCESS;
  }

  /// @source va_vpp.h: forward references are past frames, the nearest first.
  static VAStatus read_past(const Display& display, const VAProcPipelineParameterBuffer& given, Layer& layer) {
    if (!layer.filter || !layer.filter->needs_past() || given.num_forward_references == 0) return VA_STATUS_SUCCESS;
    if (!given.forward_references) return VA_STATUS_ERROR_INVALID_PARAMETER;
    layer.past = acquire<Surface>(display, given.forward_references[0]);
    if (!layer.past) return VA_STATUS_ERROR_INVALID_SURFACE;
    const bool alike = &layer.past->format == &layer.source->format && layer.past->width_px == layer.source->width_px &&
                       layer.past->height_px == layer.source->height_px;
    return alike ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
  }

  /// Fills the surface with one colour, through the same conversion as pictures. @param layer  Its background, and the
  /// target's colours.
  bool fill(Surface& target, const Layer& layer) {
    const Pixels& small = background_.prepare(AV_PIX_FMT_BGRA, 16, 16);
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 16; ++x)  // ARGB in a word is BGRA in bytes.
        std::memcpy(small.data[0] + y * small.pitch[0] + std::ptrdiff_t{x} * 4, &layer.background, 4);
    }
    return fill_scaler_.run(target.pixels(), layer.to_colour, small, {}, SWS_POINT);
  }

  bool draw(Surface& target, const Layer& layer) {
    const SurfaceAccess reads(*layer.source, Access::kRead);
    const Rectangle from = layer.from.value_or(whole(*layer.source)), to = layer.to.value_or(whole(target));
    Pixels source = crop(progressive(layer), from.x, from.y, from.width, from.height);
    if ((layer.quarters || layer.mirror_across || layer.mirror_down) && !turn_source(layer, source)) return false;
    const Pixels goal = crop(target.pixels(), to.x, to.y, to.width, to.height);
    if (layer.alpha == 256) return convert_into(goal, layer, source);
    const Pixels& above = above_.prepare(goal.format, goal.width_px, goal.height_px);
    if (!convert_into(above, layer, source)) return false;
    mix(goal, above, layer.alpha);
    return true;
  }

  /// The whole source, deinterlaced if the client requests it.
  Pixels progressive(const Layer& layer) {
    const Pixels source = layer.source->pixels();
    const std::uint32_t flags = layer.filter ? layer.filter->flags : 0;
    // A source that holds a single field needs no interpolation; scaling stretches it to the target's height.
    if (!layer.filter || layer.filter->algorithm == VAProcDeinterlacingWeave || (flags & VA_DEINTERLACING_ONE_FIELD))
      return source;
    // With VA_DEINTERLACING_SCD_ENABLE the previous frame shows another scene.
    const bool uses_past = layer.past && !(flags & VA_DEINTERLACING_SCD_ENABLE);
    std::optional<SurfaceAccess> reads;
    if (uses_past) reads.emplace(*layer.past, Access::kRead);
    const Pixels past = uses_past ? layer.past->pixels() : Pixels();
    const Pixels& made = fields_.prepare(source.format, source.width_px, source.height_px);
    deinterlace(made, source, uses_past ? &past : nullptr, (flags & VA_DEINTERLACING_BOTTOM_FIELD) != 0);
    return made;
  }

  bool turn_source(const Layer& layer, Pixels& source) {
    const AVPixelFormat format = turnable(source.format);
    if (format != source.format) {
      const Pixels& plain = plain_.prepare(format, source.width_px, source.height_px);
      if (!plain_scaler_.run(plain, layer.from_colour, source, layer.from_colour, SWS_BICUBIC)) return false;
      source = plain;
    }
    const bool across = layer.quarters % 2;
    const Pixels& turned = turned_.prepare(format, across ? source.height_px : source.width_px,
                                           across ? source.width_px : source.height_px);
    turn(turned, source, layer.quarters, layer.mirror_across, layer.mirror_down);
    source = turned;
    return true;
  }

  bool convert_into(const Pixels& to, const Layer& layer, const Pixels& from) {
    const bool same =
        to.width_px == from.width_px && to.height_px == from.height_px && layer.from_colour == layer.to_colour;
    if (same && copy_samples(to, from)) return true;
    return scaler_.run(to, layer.to_colour, from, layer.from_colour, layer.flags);
  }

  std::vector<Layer> layers_;
  Canvas fields_, background_, plain_, turned_, above_;
  Scaler scaler_, plain_scaler_, fill_scaler_;
};

}  // namespace

std::unique_ptr<Task> make_process_task() { return std::make_unique<ProcessTask>(); }

VAProcPipelineCaps process_caps(const Deinterlacing* filter) {
  static const auto fourccs = [] {
    std::array<std::uint32_t, 32> all{};
    std::transform(formats().begin(), formats().end(), all.begin(), [](const Format& one) { return one.fourcc; });
    return all;
  }();
  VAProcPipelineCaps caps{};
  caps.input_color_standards = caps.output_color_standards = kStandards;
  caps.num_input_color_standards = caps.num_output_color_standards = std::size(kStandards);
  caps.rotation_flags = 1u << VA_ROTATION_NONE | 1u << VA_ROTATION_90 | 1u << VA_ROTATION_180 | 1u << VA_ROTATION_270;
  caps.mirror_flags = VA_MIRROR_HORIZONTAL | VA_MIRROR_VERTICAL;
  caps.blend_flags = VA_BLEND_GLOBAL_ALPHA;
  caps.num_forward_references = filter && filter->needs_past() ? 1 : 0;
  caps.num_input_pixel_formats = caps.num_output_pixel_formats = static_cast<std::uint32_t>(formats().size());
  caps.input_pixel_format = caps.output_pixel_format = const_cast<std::uint32_t*>(fourccs.data());
  caps.max_input_width = caps.max_input_height = caps.max_output_width = caps.max_output_height = kMaxSide_px;
  caps.min_input_width = caps.min_input_height = caps.min_output_width = caps.min_output_height = 1;
  return caps;
}

}  // namespace tenon::va
