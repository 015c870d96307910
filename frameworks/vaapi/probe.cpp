// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that the libva found has what the framework needs.
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_vpp.h>

int main() {
  VADRMPRIMESurfaceDescriptor descriptor{};
  const VADisplay none = nullptr;
  return vaDisplayIsValid(none) || vaSyncSurface2(none, VA_INVALID_SURFACE, 0) == VA_STATUS_SUCCESS ||
         vaExportSurfaceHandle(none, VA_INVALID_SURFACE, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                               VA_EXPORT_SURFACE_SEPARATE_LAYERS, &descriptor) == VA_STATUS_SUCCESS ||
         vaGetDisplayDRM(-1) == none;
}
