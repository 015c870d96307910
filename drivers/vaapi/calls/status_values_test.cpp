// SPDX-License-Identifier: Apache-2.0
// Every entry point with null pointers and wrong values, and calls in the wrong order, as tables: the arguments, and
// the status that va.h, va_vpp.h or va_backend.h names for them.
#include <cstddef>
#include <cstring>

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/testing/objects.hpp>

namespace tenon::va::test {
namespace {

using VaStatuses = VaTest;

struct Row {
  const char* call;
  const char* wrong;
  VAStatus status;
  VAStatus (*make)(Objects& at);
};

constexpr VAStatus kInvalid = VA_STATUS_ERROR_INVALID_PARAMETER;

const Row kNullsAndValues[] = {
    {"vaQueryConfigProfiles", "a null list", kInvalid,
     [](Objects& at) {
       int count = 0;
       return vaQueryConfigProfiles(at.display, nullptr, &count);
     }},
    {"vaQueryConfigProfiles", "a null count", kInvalid,
     [](Objects& at) {
       VAProfile list[64];
       return vaQueryConfigProfiles(at.display, list, nullptr);
     }},
    {"vaQueryConfigEntrypoints", "a null list", kInvalid,
     [](Objects& at) {
       int count = 0;
       return vaQueryConfigEntrypoints(at.display, VAProfileH264High, nullptr, &count);
     }},
    {"vaQueryConfigEntrypoints", "a null count", kInvalid,
     [](Objects& at) {
       VAEntrypoint list[16];
       return vaQueryConfigEntrypoints(at.display, VAProfileH264High, list, nullptr);
     }},
    {"vaQueryConfigEntrypoints", "a profile that is not there", VA_STATUS_ERROR_UNSUPPORTED_PROFILE,
     [](Objects& at) {
       VAEntrypoint list[16];
       int count = 0;
       return vaQueryConfigEntrypoints(at.display, VAProfileVC1Main, list, &count);
     }},
    {"vaGetConfigAttributes", "a null list", kInvalid,
     [](Objects& at) { return vaGetConfigAttributes(at.display, VAProfileH264High, VAEntrypointVLD, nullptr, 1); }},
    {"vaGetConfigAttributes", "a negative count", kInvalid,
     [](Objects& at) {
       VAConfigAttrib one{};
       return vaGetConfigAttributes(at.display, VAProfileH264High, VAEntrypointVLD, &one, -1);
     }},
    {"vaGetConfigAttributes", "an entry point that is not there", VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT,
     [](Objects& at) {
       VAConfigAttrib one{};
       return vaGetConfigAttributes(at.display, VAProfileH264High, VAEntrypointMoComp, &one, 1);
     }},
    {"vaCreateConfig", "a null id", kInvalid,
     [](Objects& at) { return vaCreateConfig(at.display, VAProfileH264High, VAEntrypointVLD, nullptr, 0, nullptr); }},
    {"vaCreateConfig", "a null list", kInvalid,
     [](Objects& at) {
       VAConfigID made = 0;
       return vaCreateConfig(at.display, VAProfileH264High, VAEntrypointVLD, nullptr, 1, &made);
     }},
    {"vaQueryConfigAttributes", "a null list", kInvalid,
     [](Objects& at) {
       VAProfile profile;
       VAEntrypoint entrypoint;
       int count = 0;
       return vaQueryConfigAttributes(at.display, at.config, &profile, &entrypoint, nullptr, &count);
     }},
    {"vaQueryConfigAttributes", "a null profile", kInvalid,
     [](Objects& at) {
       VAEntrypoint entrypoint;
       VAConfigAttrib list[64];
       int count = 0;
       return vaQueryConfigAttributes(at.display, at.config, nullptr, &entrypoint, list, &count);
     }},
    {"vaQueryConfigAttributes", "a null count", kInvalid,
     [](Objects& at) {
       VAProfile profile;
       VAEntrypoint entrypoint;
       VAConfigAttrib list[64];
       return vaQueryConfigAttributes(at.display, at.config, &profile, &entrypoint, list, nullptr);
     }},
    {"vaQuerySurfaceAttributes", "a null count", kInvalid,
     [](Objects& at) { return vaQuerySurfaceAttributes(at.display, at.config, nullptr, nullptr); }},
    {"vaCreateSurfaces", "null ids", kInvalid,
     [](Objects& at) { return vaCreateSurfaces(at.display, VA_RT_FORMAT_YUV420, 8, 8, nullptr, 1, nullptr, 0); }},
    {"vaCreateSurfaces", "null attributes", kInvalid,
     [](Objects& at) {
       VASurfaceID made = 0;
       return vaCreateSurfaces(at.display, VA_RT_FORMAT_YUV420, 8, 8, &made, 1, nullptr, 1);
     }},
    {"vaCreateSurfaces", "no surface", kInvalid,
     [](Objects& at) {
       VASurfaceID made = 0;
       return vaCreateSurfaces(at.display, VA_RT_FORMAT_YUV420, 8, 8, &made, 0, nullptr, 0);
     }},
    {"vaCreateSurfaces of the table", "a negative width", kInvalid,
     [](Objects& at) {
       VASurfaceID made = 0;
       return at.table.vaCreateSurfaces(at.driver, -1, 8, VA_RT_FORMAT_YUV420, 1, &made);
     }},
    {"vaDestroySurfaces", "null ids", kInvalid, [](Objects& at) { return vaDestroySurfaces(at.display, nullptr, 1); }},
    {"vaDestroySurfaces", "a negative count", kInvalid,
     [](Objects& at) { return vaDestroySurfaces(at.display, &at.surface, -1); }},
    {"vaCreateContext", "a null id", kInvalid,
     [](Objects& at) { return vaCreateContext(at.display, at.config, 64, 64, 0, nullptr, 0, nullptr); }},
    {"vaCreateContext", "null targets", kInvalid,
     [](Objects& at) {
       VAContextID made = 0;
       return vaCreateContext(at.display, at.config, 64, 64, 0, nullptr, 1, &made);
     }},
    {"vaCreateContext", "a size of nothing", VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED,
     [](Objects& at) {
       VAContextID made = 0;
       return vaCreateContext(at.display, at.config, 0, 64, 0, nullptr, 0, &made);
     }},
    {"vaCreateBuffer", "a null id", kInvalid,
     [](Objects& at) { return vaCreateBuffer(at.display, at.context, VASliceDataBufferType, 4, 1, nullptr, nullptr); }},
    {"vaCreateBuffer", "a size of nothing", kInvalid,
     [](Objects& at) {
       VABufferID made = 0;
       return vaCreateBuffer(at.display, at.context, VASliceDataBufferType, 0, 1, nullptr, &made);
     }},
    {"vaCreateBuffer", "a type of another entry point", VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE,
     [](Objects& at) {
       VABufferID made = 0;
       return vaCreateBuffer(at.display, at.processor, VASliceDataBufferType, 4, 1, nullptr, &made);
     }},
    {"vaBufferSetNumElements", "no element", kInvalid,
     [](Objects& at) { return vaBufferSetNumElements(at.display, at.buffer, 0); }},
    {"vaBufferSetNumElements", "more elements than were made", kInvalid,
     [](Objects& at) { return vaBufferSetNumElements(at.display, at.buffer, 2); }},
    {"vaMapBuffer", "a null address", kInvalid,
     [](Objects& at) { return vaMapBuffer(at.display, at.buffer, nullptr); }},
    {"vaBufferInfo", "null results", kInvalid,
     [](Objects& at) { return at.table.vaBufferInfo(at.driver, at.buffer, nullptr, nullptr, nullptr); }},
    {"vaRenderPicture", "null buffers", kInvalid,
     [](Objects& at) { return vaRenderPicture(at.display, at.context, nullptr, 1); }},
    {"vaRenderPicture", "a negative count", kInvalid,
     [](Objects& at) { return vaRenderPicture(at.display, at.context, &at.buffer, -1); }},
    {"vaRenderPicture", "an image's buffer", VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE,
     [](Objects& at) {
       EXPECT_EQ(vaBeginPicture(at.display, at.context, at.target), VA_STATUS_SUCCESS);
       return vaRenderPicture(at.display, at.context, &at.image.buf, 1);
     }},
    {"vaQuerySurfaceStatus", "a null status", kInvalid,
     [](Objects& at) { return vaQuerySurfaceStatus(at.display, at.surface, nullptr); }},
    {"vaQuerySurfaceError", "a null list", kInvalid,
     [](Objects& at) { return vaQuerySurfaceError(at.display, at.surface, VA_STATUS_ERROR_DECODING_ERROR, nullptr); }},
    {"vaQuerySurfaceError", "an error that has no list", kInvalid,
     [](Objects& at) {
       void* errors = nullptr;
       return vaQuerySurfaceError(at.display, at.surface, VA_STATUS_SUCCESS, &errors);
     }},
    {"vaQueryImageFormats", "a null list", kInvalid,
     [](Objects& at) {
       int count = 0;
       return vaQueryImageFormats(at.display, nullptr, &count);
     }},
    {"vaQueryImageFormats", "a null count", kInvalid,
     [](Objects& at) {
       VAImageFormat list[64];
       return vaQueryImageFormats(at.display, list, nullptr);
     }},
    {"vaCreateImage", "a null format", kInvalid,
     [](Objects& at) {
       VAImage made{};
       return vaCreateImage(at.display, nullptr, 8, 8, &made);
     }},
    {"vaCreateImage", "a null image", kInvalid,
     [](Objects& at) { return vaCreateImage(at.display, &at.image.format, 8, 8, nullptr); }},
    {"vaCreateImage", "a negative height", kInvalid,
     [](Objects& at) {
       VAImage made{};
       return vaCreateImage(at.display, &at.image.format, 8, -8, &made);
     }},
    {"vaDeriveImage", "a null image", kInvalid,
     [](Objects& at) { return vaDeriveImage(at.display, at.surface, nullptr); }},
    {"vaGetImage", "more than the image holds", kInvalid,
     [](Objects& at) { return vaGetImage(at.display, at.surface, 0, 0, 65, 8, at.image.image_id); }},
    {"vaPutImage", "more than the surface holds", kInvalid,
     [](Objects& at) { return vaPutImage(at.display, at.surface, at.image.image_id, 0, 0, 8, 8, 60, 0, 8, 8); }},
    {"vaPutImage", "a place before the image", kInvalid,
     [](Objects& at) { return vaPutImage(at.display, at.surface, at.image.image_id, -1, 0, 8, 8, 0, 0, 8, 8); }},
    {"vaSetImagePalette", "an image that has none", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return vaSetImagePalette(at.display, at.image.image_id, nullptr); }},
    {"vaQuerySubpictureFormats", "null results", kInvalid,
     [](Objects& at) { return vaQuerySubpictureFormats(at.display, nullptr, nullptr, nullptr); }},
    {"vaCreateSubpicture", "a null id", kInvalid,
     [](Objects& at) { return vaCreateSubpicture(at.display, at.image.image_id, nullptr); }},
    {"vaCreateSubpicture", "a format that none has", VA_STATUS_ERROR_INVALID_IMAGE_FORMAT,
     [](Objects& at) {
       VASubpictureID made = 0;
       return vaCreateSubpicture(at.display, at.image.image_id, &made);
     }},
    {"vaQueryDisplayAttributes", "a null count", kInvalid,
     [](Objects& at) {
       VADisplayAttribute list[4];
       return vaQueryDisplayAttributes(at.display, list, nullptr);
     }},
    {"vaExportSurfaceHandle", "a null descriptor", kInvalid,
     [](Objects& at) {
       return vaExportSurfaceHandle(at.display, at.surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, 0, nullptr);
     }},
    {"vaExportSurfaceHandle", "memory of another type", VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE,
     [](Objects& at) {
       VADRMPRIMESurfaceDescriptor to{};
       return vaExportSurfaceHandle(at.display, at.surface, VA_SURFACE_ATTRIB_MEM_TYPE_KERNEL_DRM, 0, &to);
     }},
    {"vaExportSurfaceHandle", "layers both ways", kInvalid,
     [](Objects& at) {
       VADRMPRIMESurfaceDescriptor to{};
       return vaExportSurfaceHandle(at.display, at.surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                                    VA_EXPORT_SURFACE_SEPARATE_LAYERS | VA_EXPORT_SURFACE_COMPOSED_LAYERS, &to);
     }},
    {"vaCopy", "null objects", kInvalid,
     [](Objects& at) { return vaCopy(at.display, nullptr, nullptr, VACopyOption{}); }},
    {"vaCopy", "objects of two kinds", kInvalid,
     [](Objects& at) {
       VACopyObject to{}, from{};
       to.obj_type = VACopyObjectSurface;
       from.obj_type = VACopyObjectBuffer;
       to.object.surface_id = at.surface;
       from.object.buffer_id = at.buffer;
       return vaCopy(at.display, &to, &from, VACopyOption{});
     }},
    {"vaCopy", "a kind of object that is none", kInvalid,
     [](Objects& at) {
       const int none = 7;
       VACopyObject to{}, from{};
       static_assert(sizeof to.obj_type == sizeof none);
       std::memcpy(&to.obj_type, &none, sizeof none);
       std::memcpy(&from.obj_type, &none, sizeof none);
       to.object.buffer_id = from.object.buffer_id = at.buffer;
       return vaCopy(at.display, &to, &from, VACopyOption{});
     }},
    {"vaCopy", "a buffer that is too small", VA_STATUS_ERROR_NOT_ENOUGH_BUFFER,
     [](Objects& at) { return at.copy(VACopyObjectBuffer, at.buffer, at.image.buf); }},
    {"vaQueryVideoProcFilters", "a null list", kInvalid,
     [](Objects& at) {
       unsigned count = 4;
       return vaQueryVideoProcFilters(at.display, at.processor, nullptr, &count);
     }},
    {"vaQueryVideoProcFilters", "a null count", kInvalid,
     [](Objects& at) {
       VAProcFilterType list[4];
       return vaQueryVideoProcFilters(at.display, at.processor, list, nullptr);
     }},
    {"vaQueryVideoProcFilters", "no room", VA_STATUS_ERROR_MAX_NUM_EXCEEDED,
     [](Objects& at) {
       VAProcFilterType list[1];
       unsigned count = 0;
       return vaQueryVideoProcFilters(at.display, at.processor, list, &count);
     }},
    {"vaQueryVideoProcFilterCaps", "null caps", kInvalid,
     [](Objects& at) {
       unsigned count = 4;
       return vaQueryVideoProcFilterCaps(at.display, at.processor, VAProcFilterDeinterlacing, nullptr, &count);
     }},
    {"vaQueryVideoProcFilterCaps", "a filter that is not there", VA_STATUS_ERROR_UNSUPPORTED_FILTER,
     [](Objects& at) {
       VAProcFilterCap caps[4];
       unsigned count = 4;
       return vaQueryVideoProcFilterCaps(at.display, at.processor, VAProcFilterNoiseReduction, caps, &count);
     }},
    {"vaQueryVideoProcPipelineCaps", "null caps", kInvalid,
     [](Objects& at) { return vaQueryVideoProcPipelineCaps(at.display, at.processor, nullptr, 0, nullptr); }},
    {"vaQueryVideoProcPipelineCaps", "null filters", kInvalid,
     [](Objects& at) {
       VAProcPipelineCaps caps{};
       return vaQueryVideoProcPipelineCaps(at.display, at.processor, nullptr, 1, &caps);
     }},
    {"vaCreateMFContext", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VAMFContextID made = VA_INVALID_ID;
       return vaCreateMFContext(at.display, &made);
     }},
    {"vaMFAddContext", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return vaMFAddContext(at.display, 0, at.context); }},
    {"vaMFReleaseContext", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return vaMFReleaseContext(at.display, 0, at.context); }},
    {"vaMFSubmit", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return vaMFSubmit(at.display, 0, &at.context, 1); }},
    {"vaCreateBuffer2", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       unsigned unit = 0, pitch = 0;
       VABufferID made = 0;
       return vaCreateBuffer2(at.display, at.context, VAEncMacroblockMapBufferType, 8, 8, &unit, &pitch, &made);
     }},
    {"vaQueryProcessingRate", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VAProcessingRateParameter given{};
       unsigned rate = 0;
       return vaQueryProcessingRate(at.display, at.config, &given, &rate);
     }},
    {"vaAcquireBufferHandle", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VABufferInfo info{};
       return vaAcquireBufferHandle(at.display, at.image.buf, &info);
     }},
    {"vaReleaseBufferHandle", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return vaReleaseBufferHandle(at.display, at.image.buf); }},
    {"vaLockSurface", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       unsigned n[8] = {};
       void* address = nullptr;
       return at.table.vaLockSurface(at.driver, at.surface, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7,
                                     &address);
     }},
    {"vaUnlockSurface", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) { return at.table.vaUnlockSurface(at.driver, at.surface); }},
    {"vaPutSurface", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       return at.table.vaPutSurface(at.driver, at.surface, nullptr, 0, 0, 8, 8, 0, 0, 8, 8, nullptr, 0, 0);
     }},
    {"vaGetDisplayAttributes", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VADisplayAttribute one{};
       return vaGetDisplayAttributes(at.display, &one, 1);
     }},
    {"vaSetDisplayAttributes", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VADisplayAttribute one{};
       return vaSetDisplayAttributes(at.display, &one, 1);
     }},
    {"vaGetSurfaceAttributes", "nothing wrong", VA_STATUS_ERROR_UNIMPLEMENTED,
     [](Objects& at) {
       VASurfaceAttrib one{};
       return at.table.vaGetSurfaceAttributes(at.driver, at.config, &one, 1);
     }},
};

const Row kOrder[] = {
    {"vaRenderPicture", "no vaBeginPicture before", VA_STATUS_ERROR_OPERATION_FAILED,
     [](Objects& at) { return vaRenderPicture(at.display, at.context, &at.buffer, 1); }},
    {"vaEndPicture", "no vaBeginPicture before", VA_STATUS_ERROR_OPERATION_FAILED,
     [](Objects& at) { return vaEndPicture(at.display, at.context); }},
    {"vaEndPicture", "nothing rendered", kInvalid,
     [](Objects& at) {
       EXPECT_EQ(vaBeginPicture(at.display, at.context, at.surface), VA_STATUS_SUCCESS);
       return vaEndPicture(at.display, at.context);
     }},
    {"vaEndPicture", "a second time", VA_STATUS_ERROR_OPERATION_FAILED,
     [](Objects& at) {
       EXPECT_EQ(vaBeginPicture(at.display, at.processor, at.target), VA_STATUS_SUCCESS);
       VAProcPipelineParameterBuffer layer{};
       layer.surface = at.surface;
       EXPECT_EQ(at.layer(layer), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaEndPicture(at.display, at.processor), VA_STATUS_SUCCESS);
       return vaEndPicture(at.display, at.processor);
     }},
    {"vaEndPicture", "its context destroyed since vaBeginPicture", VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at) {
       VAContextID made = 0;
       EXPECT_EQ(vaCreateContext(at.display, at.config, 64, 64, 0, nullptr, 0, &made), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaBeginPicture(at.display, made, at.surface), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaDestroyContext(at.display, made), VA_STATUS_SUCCESS);
       return vaEndPicture(at.display, made);
     }},
    {"vaEndPicture", "its surfaces destroyed since vaRenderPicture, which it keeps", VA_STATUS_SUCCESS,
     [](Objects& at) {
       VASurfaceID made[2] = {};
       EXPECT_EQ(vaCreateSurfaces(at.display, VA_RT_FORMAT_YUV420, 8, 8, made, 2, nullptr, 0), VA_STATUS_SUCCESS);
       VAProcPipelineParameterBuffer layer{};
       layer.surface = made[1];
       VABufferID buffer = at.make_buffer(at.processor, VAProcPipelineParameterBufferType, sizeof layer, &layer);
       EXPECT_EQ(vaBeginPicture(at.display, at.processor, made[0]), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaRenderPicture(at.display, at.processor, &buffer, 1), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaDestroySurfaces(at.display, made, 2), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaDestroyBuffer(at.display, buffer), VA_STATUS_SUCCESS);
       return vaEndPicture(at.display, at.processor);
     }},
    {"vaUnmapBuffer", "not mapped", VA_STATUS_ERROR_OPERATION_FAILED,
     [](Objects& at) { return vaUnmapBuffer(at.display, at.buffer); }},
    {"vaGetImage", "into an image over the same surface", VA_STATUS_ERROR_SURFACE_BUSY,
     [](Objects& at) {
       VAImage derived{};
       EXPECT_EQ(vaDeriveImage(at.display, at.surface, &derived), VA_STATUS_SUCCESS);
       const VAStatus status = vaGetImage(at.display, at.surface, 0, 0, 8, 8, derived.image_id);
       EXPECT_EQ(vaDestroyImage(at.display, derived.image_id), VA_STATUS_SUCCESS);
       return status;
     }},
    {"vaDestroyBuffer", "an image's, after the image", VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at) {
       VAImage made{};
       EXPECT_EQ(vaCreateImage(at.display, &at.image.format, 8, 8, &made), VA_STATUS_SUCCESS);
       EXPECT_EQ(vaDestroyImage(at.display, made.image_id), VA_STATUS_SUCCESS);
       return vaDestroyBuffer(at.display, made.buf);
     }},
};

/// Each row on objects of its own.
template <std::size_t kCount>
void expect_rows(const Client& client, const Row (&rows)[kCount]) {
  for (const Row& row : rows) {
    Objects objects(client);
    const VAStatus status = row.make(objects);
    EXPECT_EQ(status, row.status) << row.call << " with " << row.wrong << ": " << vaErrorStr(status);
    objects.destroy();
  }
}

TEST_F(VaStatuses, OfNullPointersAndWrongValues) { expect_rows(client, kNullsAndValues); }

TEST_F(VaStatuses, OfCallsInTheWrongOrder) { expect_rows(client, kOrder); }

/// va.h: a driver without multi-frame contexts sets the id too.
TEST_F(VaStatuses, NoMultiFrameContextIsMade) {
  VAMFContextID made = VA_INVALID_ID;
  EXPECT_EQ(vaCreateMFContext(client, &made), VA_STATUS_ERROR_UNIMPLEMENTED);
  EXPECT_EQ(made, 0u);
  EXPECT_EQ(vaCreateMFContext(client, nullptr), kInvalid);
}

/// Compares these tables, and that of ids, with the driver's: a call that no table names is a gap.
TEST(VaStatusTables, NameEveryEntryPoint) {
  forget_calls();
  {
    Client client, other;
    ASSERT_TRUE(client.works() && other.works());
    spy_on(client);
    spy_on(other);
    Objects living(client);
    call_with(living, VA_INVALID_ID);
    expect_rows(client, kNullsAndValues);
    expect_rows(client, kOrder);
  }
  EXPECT_EQ(calls_left_out(), "");
}

}  // namespace
}  // namespace tenon::va::test
