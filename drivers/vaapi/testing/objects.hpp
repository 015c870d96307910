// SPDX-License-Identifier: Apache-2.0
// One living object of each kind, for tests of statuses.
#pragma once

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/testing/client.hpp>
#include <tenon/drivers/vaapi/testing/spy.hpp>

namespace tenon::va::test {

enum Kind { kConfig, kSurface, kContext, kBuffer, kImage, kSubpicture };

/// One living object of each kind on one display.
struct Objects {
  explicit Objects(const Client& client) : display(client), driver(driver_of(client)), table(*driver->vtable) {
    config = client.config(VAProfileH264High, VAEntrypointVLD);
    processing = client.config(VAProfileNone, VAEntrypointVideoProc);
    surface = client.nv12(64, 64);
    target = client.nv12(64, 64);
    EXPECT_EQ(vaCreateContext(display, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaCreateContext(display, processing, 64, 64, 0, nullptr, 0, &processor), VA_STATUS_SUCCESS);
    buffer = make_buffer(context, VASliceDataBufferType, 64);
    VAImageFormat nv12{};
    nv12.fourcc = VA_FOURCC_NV12;
    EXPECT_EQ(vaCreateImage(display, &nv12, 64, 64, &image), VA_STATUS_SUCCESS);
  }
  VABufferID make_buffer(VAContextID on, VABufferType type, unsigned size, void* data = nullptr) const {
    VABufferID made = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(display, on, type, size, 1, data, &made), VA_STATUS_SUCCESS);
    return made;
  }
  VAGenericID of(Kind kind) const {
    const VAGenericID ids[] = {config, surface, context, buffer, image.image_id};
    return kind == kSubpicture ? VA_INVALID_ID : ids[kind];
  }
  void destroy() {
    VASurfaceID surfaces[] = {surface, target};
    EXPECT_EQ(vaDestroyContext(display, context), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyContext(display, processor), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyBuffer(display, buffer), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(display, image.image_id), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroySurfaces(display, surfaces, 2), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyConfig(display, config), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyConfig(display, processing), VA_STATUS_SUCCESS);
  }
  /// Returns the status of vaRenderPicture for a picture of one layer.
  VAStatus layer(const VAProcPipelineParameterBuffer& given) const {
    VAProcPipelineParameterBuffer copy = given;
    VABufferID made = make_buffer(processor, VAProcPipelineParameterBufferType, sizeof copy, &copy);
    EXPECT_EQ(vaBeginPicture(display, processor, target), VA_STATUS_SUCCESS);
    const VAStatus status = vaRenderPicture(display, processor, &made, 1);
    EXPECT_EQ(vaDestroyBuffer(display, made), VA_STATUS_SUCCESS);
    return status;
  }
  VAStatus copy(VACopyObjectType type, VAGenericID to_id, VAGenericID from_id) const {
    VACopyObject to{}, from{};
    to.obj_type = from.obj_type = type;
    to.object.surface_id = to_id;  // One union of ids.
    from.object.surface_id = from_id;
    return vaCopy(display, &to, &from, VACopyOption{});
  }

  VADisplay display;
  VADriverContextP driver;
  VADriverVTable& table;
  VAConfigID config = 0, processing = 0;
  VASurfaceID surface = 0, target = 0;
  VAContextID context = 0, processor = 0;
  VABufferID buffer = 0;
  VAImage image{};
};

/// Every call that takes an id, with this one for each id in turn.
void call_with(Objects& at, VAGenericID id);

}  // namespace tenon::va::test
