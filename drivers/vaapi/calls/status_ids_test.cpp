// SPDX-License-Identifier: Apache-2.0
// Every entry point that takes an id, with every invalid id, as one table: the call, and the status that va.h, va_vpp.h
// or va_backend.h names for it.
#include <array>
#include <string>
#include <vector>

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/testing/objects.hpp>

namespace tenon::va::test {
namespace status_ids_test {

struct WithId {
  const char* call;
  Kind kind;  ///< Kind of the invalid argument.
  VAStatus status;
  VAStatus (*make)(Objects& at, VAGenericID id);
};

const WithId kWithId[] = {
    {"vaDestroyConfig", kConfig, VA_STATUS_ERROR_INVALID_CONFIG,
     [](Objects& at, VAGenericID id) { return vaDestroyConfig(at.display, id); }},
    {"vaQueryConfigAttributes", kConfig, VA_STATUS_ERROR_INVALID_CONFIG,
     [](Objects& at, VAGenericID id) {
       VAProfile profile;
       VAEntrypoint entrypoint;
       std::array<VAConfigAttrib, 64> list{};
       int count = 0;
       return vaQueryConfigAttributes(at.display, id, &profile, &entrypoint, list.data(), &count);
     }},
    {"vaQuerySurfaceAttributes", kConfig, VA_STATUS_ERROR_INVALID_CONFIG,
     [](Objects& at, VAGenericID id) {
       unsigned count = 0;
       return vaQuerySurfaceAttributes(at.display, id, nullptr, &count);
     }},
    {"vaCreateContext", kConfig, VA_STATUS_ERROR_INVALID_CONFIG,
     [](Objects& at, VAGenericID id) {
       VAContextID made = 0;
       return vaCreateContext(at.display, id, 64, 64, 0, nullptr, 0, &made);
     }},
    {"vaCreateContext", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VAContextID made = 0;
       VASurfaceID targets[] = {at.surface, id};
       return vaCreateContext(at.display, at.config, 64, 64, 0, targets, 2, &made);
     }},
    {"vaDestroyContext", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) { return vaDestroyContext(at.display, id); }},
    {"vaCreateBuffer", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) {
       VABufferID made = 0;
       return vaCreateBuffer(at.display, id, VASliceDataBufferType, 4, 1, nullptr, &made);
     }},
    {"vaBeginPicture", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) { return vaBeginPicture(at.display, id, at.surface); }},
    {"vaRenderPicture", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) { return vaRenderPicture(at.display, id, &at.buffer, 1); }},
    {"vaEndPicture", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) { return vaEndPicture(at.display, id); }},
    {"vaQueryVideoProcFilters", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) {
       VAProcFilterType filters[VAProcFilterCount];
       unsigned count = VAProcFilterCount;
       return vaQueryVideoProcFilters(at.display, id, filters, &count);
     }},
    {"vaQueryVideoProcFilterCaps", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) {
       VAProcFilterCapDeinterlacing caps[VAProcDeinterlacingCount];
       unsigned count = VAProcDeinterlacingCount;
       return vaQueryVideoProcFilterCaps(at.display, id, VAProcFilterDeinterlacing, caps, &count);
     }},
    {"vaQueryVideoProcPipelineCaps", kContext, VA_STATUS_ERROR_INVALID_CONTEXT,
     [](Objects& at, VAGenericID id) {
       VAProcPipelineCaps caps{};
       return vaQueryVideoProcPipelineCaps(at.display, id, nullptr, 0, &caps);
     }},
    {"vaQueryVideoProcPipelineCaps", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) {
       VAProcPipelineCaps caps{};
       return vaQueryVideoProcPipelineCaps(at.display, at.processor, &id, 1, &caps);
     }},
    {"vaDestroySurfaces", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaDestroySurfaces(at.display, &id, 1); }},
    {"vaBeginPicture", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaBeginPicture(at.display, at.context, id); }},
    {"vaSyncSurface", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaSyncSurface(at.display, id); }},
    {"vaSyncSurface2", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaSyncSurface2(at.display, id, 0); }},
    {"vaQuerySurfaceStatus", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VASurfaceStatus status;
       return vaQuerySurfaceStatus(at.display, id, &status);
     }},
    {"vaQuerySurfaceError", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       void* errors = nullptr;
       return vaQuerySurfaceError(at.display, id, VA_STATUS_ERROR_DECODING_ERROR, &errors);
     }},
    {"vaPutSurface", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       return at.table.vaPutSurface(at.driver, id, nullptr, 0, 0, 8, 8, 0, 0, 8, 8, nullptr, 0, 0);
     }},
    {"vaDeriveImage", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VAImage image{};
       return vaDeriveImage(at.display, id, &image);
     }},
    {"vaGetImage", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaGetImage(at.display, id, 0, 0, 8, 8, at.image.image_id); }},
    {"vaGetImage", kImage, VA_STATUS_ERROR_INVALID_IMAGE,
     [](Objects& at, VAGenericID id) { return vaGetImage(at.display, at.surface, 0, 0, 8, 8, id); }},
    {"vaPutImage", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return vaPutImage(at.display, id, at.image.image_id, 0, 0, 8, 8, 0, 0, 8, 8); }},
    {"vaPutImage", kImage, VA_STATUS_ERROR_INVALID_IMAGE,
     [](Objects& at, VAGenericID id) { return vaPutImage(at.display, at.surface, id, 0, 0, 8, 8, 0, 0, 8, 8); }},
    {"vaExportSurfaceHandle", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VADRMPRIMESurfaceDescriptor to{};
       return vaExportSurfaceHandle(at.display, id, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, 0, &to);
     }},
    {"vaCopy to", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return at.copy(VACopyObjectSurface, id, at.surface); }},
    {"vaCopy from", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) { return at.copy(VACopyObjectSurface, at.surface, id); }},
    {"vaCopy to", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return at.copy(VACopyObjectBuffer, id, at.buffer); }},
    {"vaCopy from", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return at.copy(VACopyObjectBuffer, at.buffer, id); }},
    {"vaRenderPicture, a layer's surface", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VAProcPipelineParameterBuffer layer{};
       layer.surface = id;
       return at.layer(layer);
     }},
    {"vaRenderPicture, a layer's filter", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) {
       VAProcPipelineParameterBuffer layer{};
       layer.surface = at.surface;
       layer.filters = &id;
       layer.num_filters = 1;
       return at.layer(layer);
     }},
    {"vaRenderPicture, the frame before", kSurface, VA_STATUS_ERROR_INVALID_SURFACE,
     [](Objects& at, VAGenericID id) {
       VAProcFilterParameterBufferDeinterlacing wanted{};
       wanted.type = VAProcFilterDeinterlacing;
       wanted.algorithm = VAProcDeinterlacingMotionAdaptive;
       VABufferID filter = at.make_buffer(at.processor, VAProcFilterParameterBufferType, sizeof wanted, &wanted);
       VAProcPipelineParameterBuffer layer{};
       layer.surface = at.surface;
       layer.filters = &filter;
       layer.forward_references = &id;
       layer.num_filters = layer.num_forward_references = 1;
       const VAStatus status = at.layer(layer);
       EXPECT_EQ(vaDestroyBuffer(at.display, filter), VA_STATUS_SUCCESS);
       return status;
     }},
    {"vaRenderPicture", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) {
       EXPECT_EQ(vaBeginPicture(at.display, at.context, at.target), VA_STATUS_SUCCESS);
       return vaRenderPicture(at.display, at.context, &id, 1);
     }},
    {"vaBufferSetNumElements", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return vaBufferSetNumElements(at.display, id, 1); }},
    {"vaMapBuffer", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) {
       void* address = nullptr;
       return vaMapBuffer(at.display, id, &address);
     }},
    {"vaUnmapBuffer", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return vaUnmapBuffer(at.display, id); }},
    {"vaDestroyBuffer", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return vaDestroyBuffer(at.display, id); }},
    {"vaBufferInfo", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) {
       VABufferType type;
       unsigned size = 0, count = 0;
       return at.table.vaBufferInfo(at.driver, id, &type, &size, &count);
     }},
    {"vaSyncBuffer", kBuffer, VA_STATUS_ERROR_INVALID_BUFFER,
     [](Objects& at, VAGenericID id) { return vaSyncBuffer(at.display, id, 0); }},
    {"vaDestroyImage", kImage, VA_STATUS_ERROR_INVALID_IMAGE,
     [](Objects& at, VAGenericID id) { return vaDestroyImage(at.display, id); }},
    {"vaSetImagePalette", kImage, VA_STATUS_ERROR_INVALID_IMAGE,
     [](Objects& at, VAGenericID id) {
       unsigned char palette[1024] = {};
       return vaSetImagePalette(at.display, id, palette);
     }},
    {"vaCreateSubpicture", kImage, VA_STATUS_ERROR_INVALID_IMAGE,
     [](Objects& at, VAGenericID id) {
       VASubpictureID made = 0;
       return vaCreateSubpicture(at.display, id, &made);
     }},
    {"vaDestroySubpicture", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) { return vaDestroySubpicture(at.display, id); }},
    {"vaSetSubpictureImage", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) { return vaSetSubpictureImage(at.display, id, at.image.image_id); }},
    {"vaSetSubpictureChromakey", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) { return vaSetSubpictureChromakey(at.display, id, 0, 1, 2); }},
    {"vaSetSubpictureGlobalAlpha", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) { return vaSetSubpictureGlobalAlpha(at.display, id, 1); }},
    {"vaAssociateSubpicture", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) {
       return vaAssociateSubpicture(at.display, id, &at.surface, 1, 0, 0, 8, 8, 0, 0, 8, 8, 0);
     }},
    {"vaDeassociateSubpicture", kSubpicture, VA_STATUS_ERROR_INVALID_SUBPICTURE,
     [](Objects& at, VAGenericID id) { return vaDeassociateSubpicture(at.display, id, &at.surface, 1); }},
};

struct BadId {
  std::string what;
  VAGenericID id;
};

class VaIdStatuses : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    ASSERT_TRUE(other.works());
  }
  /// Every id that does not name a living object of this kind on this display.
  static std::vector<BadId> bad_ids(Kind kind, const Objects& living, const Objects& dead, const Objects& foreign) {
    std::vector<BadId> all{{"0", 0}, {"VA_INVALID_ID", VA_INVALID_ID}, {"one that never was", 0x80000000}};
    if (kind != kSubpicture) {
      all.push_back({"of another display", foreign.of(kind)});
      all.push_back({"destroyed", dead.of(kind)});
    }
    for (const Kind wrong : {kConfig, kSurface, kContext, kBuffer, kImage})
      if (wrong != kind) all.push_back({"of kind " + std::to_string(wrong), living.of(wrong)});
    return all;
  }
  Client other;
};

TEST_F(VaIdStatuses, OfEveryCallWithAnIdThatIsNone) {
  Objects living(client), foreign(other), dead(client);
  dead.destroy();
  for (const WithId& row : kWithId) {
    for (const BadId& bad : bad_ids(row.kind, living, dead, foreign)) {
      const VAStatus status = row.make(living, bad.id);
      EXPECT_EQ(status, row.status) << row.call << " with an id that is " << bad.what << ": " << vaErrorStr(status);
    }
  }
  living.destroy();  // No wrong call destroyed an object.
  foreign.destroy();
}

}  // namespace status_ids_test

void call_with(Objects& at, VAGenericID id) {
  for (const status_ids_test::WithId& row : status_ids_test::kWithId) row.make(at, id);
}

}  // namespace tenon::va::test
