// SPDX-License-Identifier: Apache-2.0
// Initialisation and termination of the driver, its display attributes (none), and libva's tables.
#include <memory>

#include <tenon/core/version.hpp>

#include <tenon/drivers/vaapi/calls/calls.hpp>

extern "C" {
#include <libavutil/log.h>
}

namespace tenon::va::calls {
namespace {

VAStatus terminate(VADriverContextP context) {
  delete static_cast<const Display*>(context->pDriverData);
  context->pDriverData = nullptr;
  return VA_STATUS_SUCCESS;
}

VAStatus query_display_attributes(VADriverContextP, VADisplayAttribute*, int* count) {
  if (!count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *count = 0;
  return VA_STATUS_SUCCESS;
}

/// @source va.h: a driver without multi-frame contexts sets the id too.
VAStatus create_mf_context(VADriverContextP, VAMFContextID* id) {
  if (!id) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *id = 0;
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

template <class... Arguments>
void refuse(VAStatus (*&call)(Arguments...)) {
  call = [](Arguments...) -> VAStatus { return VA_STATUS_ERROR_UNIMPLEMENTED; };
}

/// Refuses the features that this driver lacks: display attributes, multi-frame contexts, two-dimensional buffers,
/// exported image buffers (surfaces are exported), locked surfaces (images are derived).
void refuse_the_rest(VADriverVTable& table) {
  refuse(table.vaGetDisplayAttributes);
  refuse(table.vaSetDisplayAttributes);
  refuse(table.vaLockSurface);
  refuse(table.vaUnlockSurface);
  refuse(table.vaGetSurfaceAttributes);
  refuse(table.vaAcquireBufferHandle);
  refuse(table.vaReleaseBufferHandle);
  table.vaCreateMFContext = create_mf_context;
  refuse(table.vaMFAddContext);
  refuse(table.vaMFReleaseContext);
  refuse(table.vaMFSubmit);
  refuse(table.vaCreateBuffer2);
  refuse(table.vaQueryProcessingRate);
}

}  // namespace

VAStatus status_of(const Error& error) noexcept {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    case Code::kResourceExhausted:
      return VA_STATUS_ERROR_ALLOCATION_FAILED;
    default:
      return VA_STATUS_ERROR_OPERATION_FAILED;
  }
}

void fill_display_calls(VADriverVTable& table) {
  table.vaTerminate = terminate;
  table.vaQueryDisplayAttributes = query_display_attributes;
}

static VAStatus initialise(VADriverContextP context) {
  return guarded([&]() -> VAStatus {
    if (!context || !context->vtable) return VA_STATUS_ERROR_INVALID_PARAMETER;
    VADriverVTable& table = *context->vtable;
    refuse_the_rest(table);
    fill_display_calls(table);
    fill_config_calls(table);
    fill_surface_calls(table);
    fill_buffer_calls(table);
    fill_image_calls(table);
    fill_picture_calls(table);
    if (context->vtable_vpp) fill_process_calls(*context->vtable_vpp);
    context->version_major = VA_MAJOR_VERSION;
    context->version_minor = VA_MINOR_VERSION;
    context->max_profiles = max_profiles();
    context->max_entrypoints = kMaxEntrypoints;
    context->max_attributes = kMaxAttributes;
    context->max_image_formats = max_image_formats();
    context->max_subpic_formats = 1;  // libva refuses 0.
    context->max_display_attributes = 0;
    context->str_vendor = "Tenon software VA-API driver " TENON_VERSION;
    context->pDriverData = new Display;
    return VA_STATUS_SUCCESS;
  });
}

}  // namespace tenon::va::calls

// The name contains the version of the table's interface; newer libraries look for older ones too.
#define TENON_JOIN(a, b, c, d) a##b##c##d
#define TENON_INIT_NAME(major, minor) TENON_JOIN(__vaDriverInit_, major, _, minor)
extern "C" __attribute__((visibility("default"))) VAStatus TENON_INIT_NAME(VA_MAJOR_VERSION,
                                                                           VA_MINOR_VERSION)(VADriverContextP context) {
  return tenon::va::calls::initialise(context);
}
