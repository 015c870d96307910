// SPDX-License-Identifier: Apache-2.0
// Images: with memory of their own, and derived from surfaces. Subpictures are refused: there is no window to blend
// them into.
#include <utility>

#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>

extern "C" {
#include <libswscale/swscale.h>
}

namespace tenon::va::calls {
namespace {

VAStatus query_formats(VADriverContextP, VAImageFormat* list, int* count) {
  if (!list || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *count = 0;
  for (const Format& format : formats()) list[(*count)++] = format.image();
  return VA_STATUS_SUCCESS;
}

/// @param planes  Offsets and pitches of the format's planes.
Ref<Image> make_image(const Display& display, const Format& format, Ref<Buffer> buffer, std::uint32_t width_px,
                      std::uint32_t height_px, const PlaneLayout& planes) {
  const VABufferID buffer_id = buffer->id();
  const std::size_t size_bytes = buffer->bytes().size();
  Ref<Image> image = make_object<Image>(display, format, std::move(buffer));
  VAImage& about = image->about;
  about.image_id = image->id();
  about.format = format.image();
  about.buf = buffer_id;
  about.width = static_cast<std::uint16_t>(width_px);
  about.height = static_cast<std::uint16_t>(height_px);
  about.data_size = static_cast<std::uint32_t>(size_bytes);
  about.num_planes = format.planes();
  for (std::size_t plane = 0; plane < format.planes(); ++plane) {
    about.pitches[plane] = planes.pitch[plane];
    about.offsets[plane] = planes.offset[plane];
  }
  return image;
}

VAStatus create_image(VADriverContextP context, VAImageFormat* wanted, int width_px, int height_px, VAImage* image) {
  return guarded([&]() -> VAStatus {
    if (!wanted || !image) return VA_STATUS_ERROR_INVALID_PARAMETER;
    *image = {};
    image->image_id = image->buf = VA_INVALID_ID;
    const Format* format = find_format(wanted->fourcc);
    if (!format) return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    if (width_px <= 0 || height_px <= 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto width = static_cast<std::uint32_t>(width_px), height = static_cast<std::uint32_t>(height_px);
    if (width > kMaxSide_px || height > kMaxSide_px) return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    const PlaneLayout layout = layout_of(*format, width, height);
    const Display& display = display_of(context);
    Ref<Buffer> buffer = make_object<Buffer>(display, VAImageBufferType, layout.size_bytes, 1u);
    const VABufferID buffer_id = buffer->id();
    try {
      *image = make_image(display, *format, std::move(buffer), width, height, layout)->about;
    } catch (...) {
      destroy_id(display, buffer_id, Kind::kBuffer);
      throw;
    }
    return VA_STATUS_SUCCESS;
  });
}

VAStatus derive_image(VADriverContextP context, VASurfaceID id, VAImage* image) {
  return guarded([&]() -> VAStatus {
    const Display& display = display_of(context);
    const Ref<Surface> surface = acquire<Surface>(display, id);
    if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (!image) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!surface->is_one_memory() || surface->read_only()) return VA_STATUS_ERROR_OPERATION_FAILED;
    PlaneLayout layout;
    for (std::size_t plane = 0; plane < surface->format.planes(); ++plane) {
      layout.pitch[plane] = surface->planes[plane].pitch;
      layout.offset[plane] = surface->planes[plane].offset;
    }
    Ref<Buffer> buffer = make_object<Buffer>(display, surface->planes[0].memory, surface);
    const VABufferID buffer_id = buffer->id();
    surface->derived.fetch_add(1);  // Decremented with the image.
    try {
      *image =
          make_image(display, surface->format, std::move(buffer), surface->width_px, surface->height_px, layout)->about;
    } catch (...) {
      surface->derived.fetch_sub(1);
      destroy_id(display, buffer_id, Kind::kBuffer);
      throw;
    }
    return VA_STATUS_SUCCESS;
  });
}

VAStatus destroy_image(VADriverContextP context, VAImageID id) {
  const Display& display = display_of(context);
  const Ref<Image> image = acquire<Image>(display, id);
  if (!image || !destroy_id(display, id, Kind::kImage)) return VA_STATUS_ERROR_INVALID_IMAGE;
  destroy_id(display, image->about.buf, Kind::kBuffer);  // Unless the client destroyed it already.
  return VA_STATUS_SUCCESS;
}

VAStatus set_palette(VADriverContextP context, VAImageID id, unsigned char*) {
  if (!acquire<Image>(display_of(context), id)) return VA_STATUS_ERROR_INVALID_IMAGE;
  return VA_STATUS_ERROR_UNIMPLEMENTED;  // No format here has a palette.
}

bool lies_within(int x, int y, unsigned width, unsigned height, int all_width, int all_height) {
  return x >= 0 && y >= 0 && width > 0 && height > 0 && width <= static_cast<unsigned>(all_width) &&
         height <= static_cast<unsigned>(all_height) && x <= all_width - static_cast<int>(width) &&
         y <= all_height - static_cast<int>(height);
}

/// Finds both objects of a transfer; refuses an image derived from the same surface.
VAStatus find_both(const Display& display, VASurfaceID surface_id, VAImageID image_id, Ref<Surface>& surface,
                   Ref<Image>& image) {
  surface = acquire<Surface>(display, surface_id);
  if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
  image = acquire<Image>(display, image_id);
  if (!image) return VA_STATUS_ERROR_INVALID_IMAGE;
  return image->buffer->surface().get() == surface.get() ? VA_STATUS_ERROR_SURFACE_BUSY : VA_STATUS_SUCCESS;
}

VAStatus get_image(VADriverContextP context, VASurfaceID surface_id, int x_px, int y_px, unsigned width_px,
                   unsigned height_px, VAImageID image_id) {
  return guarded([&]() -> VAStatus {
    Ref<Surface> surface;
    Ref<Image> image;
    if (const VAStatus status = find_both(display_of(context), surface_id, image_id, surface, image)) return status;
    const Pixels from = surface->pixels(), to = image->pixels();
    if (!lies_within(x_px, y_px, width_px, height_px, from.width_px, from.height_px) ||
        !lies_within(0, 0, width_px, height_px, to.width_px, to.height_px))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    const int width = static_cast<int>(width_px), height = static_cast<int>(height_px);
    const SurfaceAccess access(*surface, Access::kRead);
    return convert(crop(to, 0, 0, width, height), crop(from, x_px, y_px, width, height))
               ? VA_STATUS_SUCCESS
               : VA_STATUS_ERROR_OPERATION_FAILED;
  });
}

VAStatus put_image(VADriverContextP context, VASurfaceID surface_id, VAImageID image_id, int from_x, int from_y,
                   unsigned from_width, unsigned from_height, int to_x, int to_y, unsigned to_width,
                   unsigned to_height) {
  return guarded([&]() -> VAStatus {
    Ref<Surface> surface;
    Ref<Image> image;
    if (const VAStatus status = find_both(display_of(context), surface_id, image_id, surface, image)) return status;
    if (surface->read_only()) return VA_STATUS_ERROR_OPERATION_FAILED;
    const Pixels from = image->pixels(), to = surface->pixels();
    if (!lies_within(from_x, from_y, from_width, from_height, from.width_px, from.height_px) ||
        !lies_within(to_x, to_y, to_width, to_height, to.width_px, to.height_px))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    const Pixels source = crop(from, from_x, from_y, static_cast<int>(from_width), static_cast<int>(from_height));
    const Pixels target = crop(to, to_x, to_y, static_cast<int>(to_width), static_cast<int>(to_height));
    const SurfaceAccess access(*surface, Access::kWrite);
    const bool same_size = from_width == to_width && from_height == to_height;
    Scaler scaler;
    const bool done = same_size ? convert(target, source) : scaler.run(target, {}, source, {}, SWS_BICUBIC);
    return done ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_OPERATION_FAILED;
  });
}

VAStatus query_subpicture_formats(VADriverContextP, VAImageFormat* list, unsigned* flags, unsigned* count) {
  if (!list || !flags || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *count = 0;
  return VA_STATUS_SUCCESS;
}

VAStatus create_subpicture(VADriverContextP context, VAImageID id, VASubpictureID* subpicture) {
  if (!acquire<Image>(display_of(context), id)) return VA_STATUS_ERROR_INVALID_IMAGE;
  if (!subpicture) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *subpicture = VA_INVALID_ID;
  return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;  // vaQuerySubpictureFormats names none.
}

/// No subpicture was ever made, so none is valid.
template <class... Arguments>
void refuse_subpicture(VAStatus (*&call)(Arguments...)) {
  call = [](Arguments...) -> VAStatus { return VA_STATUS_ERROR_INVALID_SUBPICTURE; };
}

}  // namespace

int max_image_formats() { return static_cast<int>(formats().size()); }

void fill_image_calls(VADriverVTable& table) {
  table.vaQueryImageFormats = query_formats;
  table.vaCreateImage = create_image;
  table.vaDeriveImage = derive_image;
  table.vaDestroyImage = destroy_image;
  table.vaSetImagePalette = set_palette;
  table.vaGetImage = get_image;
  table.vaPutImage = put_image;
  table.vaQuerySubpictureFormats = query_subpicture_formats;
  table.vaCreateSubpicture = create_subpicture;
  refuse_subpicture(table.vaDestroySubpicture);
  refuse_subpicture(table.vaSetSubpictureImage);
  refuse_subpicture(table.vaSetSubpictureChromakey);
  refuse_subpicture(table.vaSetSubpictureGlobalAlpha);
  refuse_subpicture(table.vaAssociateSubpicture);
  refuse_subpicture(table.vaDeassociateSubpicture);
}

}  // namespace tenon::va::calls
