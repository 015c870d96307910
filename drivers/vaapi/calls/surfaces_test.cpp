// SPDX-License-Identifier: Apache-2.0
// Surfaces and images through libva: layouts, transfers, export and import of descriptors, and refused calls.
#include <sys/mman.h>
#include <array>
#include <cstring>

#include <tenon/drivers/vaapi/testing/client.hpp>

namespace tenon::va::test {
namespace calls_surfaces_test {

using VaSurfaces = VaTest;

VAImageFormat format_of(std::uint32_t fourcc) {
  VAImageFormat format{};
  format.fourcc = fourcc;
  return format;
}

std::uint8_t* map(const Client& client, VABufferID id) {
  void* address = nullptr;
  EXPECT_EQ(vaMapBuffer(client, id, &address), VA_STATUS_SUCCESS);
  return static_cast<std::uint8_t*>(address);
}

/// Writes a pattern through a derived image. @return the value at (x, y) is x * 3 + y * 5, of chroma + 7.
void paint(const Client& client, VASurfaceID surface) {
  VAImage image{};
  ASSERT_EQ(vaDeriveImage(client, surface, &image), VA_STATUS_SUCCESS);
  std::uint8_t* bytes = map(client, image.buf);
  for (unsigned y = 0; y < image.height; ++y)
    for (unsigned x = 0; x < image.width; ++x)
      bytes[image.offsets[0] + y * image.pitches[0] + x] = static_cast<std::uint8_t>(x * 3 + y * 5);
  for (unsigned y = 0; y < image.height / 2u; ++y)
    for (unsigned x = 0; x < image.width; ++x)
      bytes[image.offsets[1] + y * image.pitches[1] + x] = static_cast<std::uint8_t>(x * 3 + y * 5 + 7);
  EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
}

TEST_F(VaSurfaces, EveryFormatIsMadeDerivedAndExported) {
  std::vector<VAImageFormat> formats(static_cast<std::size_t>(vaMaxNumImageFormats(client)));
  int count = 0;
  ASSERT_EQ(vaQueryImageFormats(client, formats.data(), &count), VA_STATUS_SUCCESS);
  ASSERT_GE(count, 10);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t fourcc = formats[static_cast<std::size_t>(i)].fourcc;
    SCOPED_TRACE(std::string(reinterpret_cast<const char*>(&fourcc), 4));
    VASurfaceID surface = VA_INVALID_SURFACE;
    for (const unsigned rt : {VA_RT_FORMAT_YUV420, VA_RT_FORMAT_YUV420_10, VA_RT_FORMAT_YUV422, VA_RT_FORMAT_YUV444,
                              VA_RT_FORMAT_YUV400, VA_RT_FORMAT_RGB32}) {
      VASurfaceAttrib wish{VASurfaceAttribPixelFormat, VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypeInteger, {}}};
      wish.value.value.i = static_cast<int>(fourcc);
      if (vaCreateSurfaces(client, rt, 63, 35, &surface, 1, &wish, 1) == VA_STATUS_SUCCESS) break;
    }
    ASSERT_NE(surface, VA_INVALID_SURFACE);
    VAImage image{};
    ASSERT_EQ(vaDeriveImage(client, surface, &image), VA_STATUS_SUCCESS);
    EXPECT_EQ(image.format.fourcc, fourcc);
    VADRMPRIMESurfaceDescriptor composed{}, separate{};
    ASSERT_EQ(vaExportSurfaceHandle(client, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                                    VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_COMPOSED_LAYERS, &composed),
              VA_STATUS_SUCCESS);
    ASSERT_EQ(vaExportSurfaceHandle(client, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                                    VA_EXPORT_SURFACE_READ_ONLY | VA_EXPORT_SURFACE_SEPARATE_LAYERS, &separate),
              VA_STATUS_SUCCESS);
    const UniqueFd first(composed.objects[0].fd), second(separate.objects[0].fd);
    EXPECT_EQ(composed.num_layers, 1u);
    EXPECT_EQ(composed.layers[0].num_planes, image.num_planes);
    EXPECT_EQ(separate.num_layers, image.num_planes);
    for (std::size_t plane = 0; plane < image.num_planes; ++plane) {
      EXPECT_EQ(composed.layers[0].pitch[plane], image.pitches[plane]);
      EXPECT_EQ(separate.layers[plane].offset[0], image.offsets[plane]);
    }
    EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroySurfaces(client, &surface, 1), VA_STATUS_SUCCESS);
  }
}

TEST_F(VaSurfaces, ExportedDescriptorShowsTheSurfaceAndImportsAsTheSameMemory) {
  const VASurfaceID surface = client.nv12(64, 32);
  paint(client, surface);
  VADRMPRIMESurfaceDescriptor from{};
  ASSERT_EQ(vaExportSurfaceHandle(client, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                                  VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_COMPOSED_LAYERS, &from),
            VA_STATUS_SUCCESS);
  const UniqueFd fd(from.objects[0].fd);
  const std::size_t size = from.objects[0].size;
  auto* bytes = static_cast<std::uint8_t*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_NE(static_cast<void*>(bytes), MAP_FAILED);
  EXPECT_EQ(bytes[from.layers[0].offset[0] + 3 * from.layers[0].pitch[0] + 2], 3 * 5 + 2 * 3);

  std::array<VASurfaceAttrib, 2> attributes{};
  attributes[0] = {VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypeInteger, {}}};
  attributes[0].value.value.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
  attributes[1] = {
      VASurfaceAttribExternalBufferDescriptor, VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypePointer, {}}};
  attributes[1].value.value.p = &from;
  VASurfaceID imported = VA_INVALID_SURFACE;
  const auto import = [&] {
    return vaCreateSurfaces(client, VA_RT_FORMAT_YUV420, 64, 32, &imported, 1, attributes.data(), 2);
  };
  ASSERT_EQ(import(), VA_STATUS_SUCCESS);
  bytes[from.layers[0].offset[0]] = 0xEE;  // By the descriptor, read through the imported surface.
  VAImage image{};
  ASSERT_EQ(vaDeriveImage(client, imported, &image), VA_STATUS_SUCCESS);
  EXPECT_EQ(map(client, image.buf)[image.offsets[0]], 0xEE);
  EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaDestroySurfaces(client, &imported, 1), VA_STATUS_SUCCESS);
  ::munmap(bytes, size);

  const VADRMPRIMESurfaceDescriptor good = from;
  from.layers[0].pitch[1] = 32;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "a pitch below the width";
  from = good;
  from.layers[0].offset[1] = static_cast<std::uint32_t>(size) - 64;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "a plane past the end";
  from = good;
  from.objects[0].drm_format_modifier = 0x0100000000000002;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "a tiled modifier";
  from = good;
  from.layers[0].object_index[1] = 3;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "an object that is not there";
  from = good;
  from.objects[0].fd = -1;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "no descriptor";
  from = good;
  from.objects[0].size *= 4;
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "more bytes than there are";
  const UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<off_t>(size)), 0);
  from = good;
  from.objects[0].fd = unsealed.get();
  EXPECT_EQ(import(), VA_STATUS_ERROR_INVALID_PARAMETER) << "its owner could pull the pages away";
  EXPECT_EQ(imported, VA_INVALID_SURFACE);
}

TEST_F(VaSurfaces, ImagesTakeAndGiveRectanglesAndConvert) {
  const VASurfaceID surface = client.nv12(64, 32);
  paint(client, surface);
  VAImageFormat planar = format_of(VA_FOURCC_I420);
  VAImage image{};
  ASSERT_EQ(vaCreateImage(client, &planar, 32, 16, &image), VA_STATUS_SUCCESS);
  ASSERT_EQ(vaGetImage(client, surface, 16, 8, 32, 16, image.image_id), VA_STATUS_SUCCESS);
  const std::uint8_t* bytes = map(client, image.buf);
  for (unsigned y = 0; y < 16; ++y)
    for (unsigned x = 0; x < 32; ++x)
      ASSERT_EQ(bytes[image.offsets[0] + y * image.pitches[0] + x],
                static_cast<std::uint8_t>((16 + x) * 3 + (8 + y) * 5))
          << x << "," << y;
  EXPECT_EQ(bytes[image.offsets[1]], 16 * 3 + 4 * 5 + 7);
  EXPECT_EQ(bytes[image.offsets[2]], 17 * 3 + 4 * 5 + 7);
  EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
  const VASurfaceID other = client.nv12(64, 32);
  ASSERT_EQ(vaPutImage(client, other, image.image_id, 0, 0, 32, 16, 32, 16, 32, 16), VA_STATUS_SUCCESS);
  VAImage derived{};
  ASSERT_EQ(vaDeriveImage(client, other, &derived), VA_STATUS_SUCCESS);
  bytes = map(client, derived.buf);
  EXPECT_EQ(bytes[derived.offsets[0] + 16 * derived.pitches[0] + 32], 16 * 3 + 8 * 5);
  EXPECT_EQ(bytes[derived.offsets[1] + 8 * derived.pitches[1] + 33], 17 * 3 + 4 * 5 + 7);
  EXPECT_EQ(vaUnmapBuffer(client, derived.buf), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaUnmapBuffer(client, derived.buf), VA_STATUS_ERROR_OPERATION_FAILED) << "not mapped any more";
  EXPECT_EQ(vaGetImage(client, other, 0, 0, 8, 8, derived.image_id), VA_STATUS_ERROR_SURFACE_BUSY);
  EXPECT_EQ(vaGetImage(client, surface, 0, 0, 64, 32, image.image_id), VA_STATUS_ERROR_INVALID_PARAMETER)
      << "too large";
  EXPECT_EQ(vaGetImage(client, surface, -2, 0, 8, 8, image.image_id), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(vaGetImage(client, surface, 0x7fffffff, 0, 8, 8, image.image_id), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(vaPutImage(client, surface, image.image_id, 0, 0, 32, 16, 40, 20, 32, 16),
            VA_STATUS_ERROR_INVALID_PARAMETER);
}

TEST_F(VaSurfaces, RectanglesOfPackedPicturesBeginAtTheirPixels) {
  const VASurfaceID surface = client.surface(VA_FOURCC_YUY2, VA_RT_FORMAT_YUV422, 64, 16);
  VAImage whole{}, part{};
  void* address = nullptr;
  ASSERT_EQ(vaDeriveImage(client, surface, &whole), VA_STATUS_SUCCESS);
  ASSERT_EQ(vaMapBuffer(client, whole.buf, &address), VA_STATUS_SUCCESS);
  for (unsigned i = 0; i < 128; ++i)
    static_cast<std::uint8_t*>(address)[whole.offsets[0] + i] = static_cast<std::uint8_t>(i);
  ASSERT_EQ(vaUnmapBuffer(client, whole.buf), VA_STATUS_SUCCESS);
  VAImageFormat format{};
  format.fourcc = VA_FOURCC_YUY2;
  ASSERT_EQ(vaCreateImage(client, &format, 16, 16, &part), VA_STATUS_SUCCESS);
  ASSERT_EQ(vaGetImage(client, surface, 48, 0, 16, 16, part.image_id), VA_STATUS_SUCCESS);
  ASSERT_EQ(vaMapBuffer(client, part.buf, &address), VA_STATUS_SUCCESS);
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(static_cast<std::uint8_t*>(address)[part.offsets[0] + i], 96 + i);
  EXPECT_EQ(vaUnmapBuffer(client, part.buf), VA_STATUS_SUCCESS);
}

TEST_F(VaSurfaces, RefusesWhatDocumentationSaysItRefuses) {
  VASurfaceID ids[2] = {};
  EXPECT_EQ(vaCreateSurfaces(client, VA_RT_FORMAT_YUV420, 0, 16, ids, 1, nullptr, 0),
            VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED);
  EXPECT_EQ(vaCreateSurfaces(client, VA_RT_FORMAT_YUV420, 16, 1u << 31, ids, 1, nullptr, 0),
            VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED);
  EXPECT_EQ(vaCreateSurfaces(client, 0x40000000, 16, 16, ids, 1, nullptr, 0), VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT);
  VASurfaceAttrib user{VASurfaceAttribMemoryType, VA_SURFACE_ATTRIB_SETTABLE, {VAGenericValueTypeInteger, {}}};
  user.value.value.i = VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR;
  EXPECT_EQ(vaCreateSurfaces(client, VA_RT_FORMAT_YUV420, 16, 16, ids, 1, &user, 1),
            VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE);
  const VASurfaceID surface = client.nv12(16, 16);
  VADRMPRIMESurfaceDescriptor to{};
  EXPECT_EQ(vaExportSurfaceHandle(client, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME, 0, &to),
            VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE);
  VAImageFormat unknown = format_of(0x12345678);
  VAImage image{};
  EXPECT_EQ(vaCreateImage(client, &unknown, 16, 16, &image), VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
  VASubpictureID subpicture = 0;
  ASSERT_EQ(vaDeriveImage(client, surface, &image), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaCreateSubpicture(client, image.image_id, &subpicture), VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
  VASurfaceID gone = surface;
  EXPECT_EQ(vaDestroySurfaces(client, &gone, 1), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaDestroySurfaces(client, &gone, 1), VA_STATUS_ERROR_INVALID_SURFACE);
  map(client, image.buf)[0] = 1;  // The image keeps the surface's memory.
  EXPECT_EQ(vaSyncSurface(client, gone), VA_STATUS_ERROR_INVALID_SURFACE);
}

}  // namespace calls_surfaces_test
}  // namespace tenon::va::test
