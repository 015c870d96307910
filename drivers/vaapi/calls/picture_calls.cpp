// SPDX-License-Identifier: Apache-2.0
// Contexts, and the pictures that they work on.
#include <memory>
#include <utility>

#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/codec/decode_task.hpp>
#include <tenon/drivers/vaapi/codec/encode_task.hpp>
#include <tenon/drivers/vaapi/process/process_task.hpp>

namespace tenon::va::calls {
namespace {

std::unique_ptr<Task> make_task(const Config& config) {
  if (config.entrypoint == VAEntrypointVideoProc) return make_process_task();
  if (config.entrypoint == VAEntrypointEncSlice) return make_encode_task(config);
  return make_decode_task(*find_decode_profile(config.profile));
}

VAStatus create_context(VADriverContextP context, VAConfigID config_id, int width_px, int height_px, int,
                        VASurfaceID* targets, int target_count, VAContextID* id) {
  return guarded([&]() -> VAStatus {
    const Display& display = display_of(context);
    if (!id) return VA_STATUS_ERROR_INVALID_PARAMETER;
    *id = VA_INVALID_ID;
    Ref<Config> config = acquire<Config>(display, config_id);
    if (!config) return VA_STATUS_ERROR_INVALID_CONFIG;
    if (target_count < 0 || (target_count > 0 && !targets)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto max_width = static_cast<int>(config->attribute(VAConfigAttribMaxPictureWidth));
    const auto max_height = static_cast<int>(config->attribute(VAConfigAttribMaxPictureHeight));
    // Processing has no size of its own: clients give 0.
    const int min = config->entrypoint == VAEntrypointVideoProc ? 0 : 1;
    if (width_px < min || height_px < min || width_px > max_width || height_px > max_height)
      return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    for (const VASurfaceID target : std::span(targets, static_cast<std::size_t>(target_count))) {
      if (!acquire<Surface>(display, target)) return VA_STATUS_ERROR_INVALID_SURFACE;
    }
    std::unique_ptr<Task> task = make_task(*config);
    *id = make_object<Context>(display, std::move(config), std::move(task))->id();
    return VA_STATUS_SUCCESS;
  });
}

VAStatus destroy_context(VADriverContextP context, VAContextID id) {
  return destroy_id(display_of(context), id, Kind::kContext) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
}

VAStatus begin_picture(VADriverContextP context, VAContextID id, VASurfaceID surface_id) {
  return guarded([&]() -> VAStatus {
    const Ref<Context> worker = acquire<Context>(display_of(context), id);
    if (!worker) return VA_STATUS_ERROR_INVALID_CONTEXT;
    Ref<Surface> surface = acquire<Surface>(display_of(context), surface_id);
    if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
    if ((surface->format.rt_format & worker->config->attribute(VAConfigAttribRTFormat)) == 0)
      return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    const bool reads = worker->config->entrypoint == VAEntrypointEncSlice;
    if (!reads && surface->read_only()) return VA_STATUS_ERROR_INVALID_SURFACE;
    const std::lock_guard lock(worker->mutex);
    worker->target = std::move(surface);
    worker->task->begin();
    return VA_STATUS_SUCCESS;
  });
}

VAStatus render_picture(VADriverContextP context, VAContextID id, VABufferID* buffers, int count) {
  return guarded([&]() -> VAStatus {
    const Ref<Context> worker = acquire<Context>(display_of(context), id);
    if (!worker) return VA_STATUS_ERROR_INVALID_CONTEXT;
    if (count < 0 || (count > 0 && !buffers)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const std::lock_guard lock(worker->mutex);
    if (!worker->target) return VA_STATUS_ERROR_OPERATION_FAILED;
    for (const VABufferID buffer_id : std::span(buffers, static_cast<std::size_t>(count))) {
      Ref<Buffer> buffer = acquire<Buffer>(display_of(context), buffer_id);
      if (!buffer) return VA_STATUS_ERROR_INVALID_BUFFER;
      if (!worker->task->takes(buffer->type)) return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
      if (const VAStatus status = worker->task->render(std::move(buffer))) return status;
    }
    return VA_STATUS_SUCCESS;
  });
}

VAStatus end_picture(VADriverContextP context, VAContextID id) {
  return guarded([&]() -> VAStatus {
    const Ref<Context> worker = acquire<Context>(display_of(context), id);
    if (!worker) return VA_STATUS_ERROR_INVALID_CONTEXT;
    const std::lock_guard lock(worker->mutex);
    const Ref<Surface> target = std::exchange(worker->target, {});
    return target ? worker->task->end(*target) : VA_STATUS_ERROR_OPERATION_FAILED;
  });
}

}  // namespace

void fill_picture_calls(VADriverVTable& table) {
  table.vaCreateContext = create_context;
  table.vaDestroyContext = destroy_context;
  table.vaBeginPicture = begin_picture;
  table.vaRenderPicture = render_picture;
  table.vaEndPicture = end_picture;
}

}  // namespace tenon::va::calls
