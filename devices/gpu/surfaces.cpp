// SPDX-License-Identifier: Apache-2.0
// What is missing for surfaces of VA-API.
#include <tenon/devices/gpu/surfaces.hpp>

#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/sharing.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {

void refuse_surfaces(const Context& context, const std::string& what) {
  std::string sharing, dmabuf;
  opencl::shares(context, opencl::PictureApi::kVa, &sharing);
  const bool imports = opencl::imports(context, FdKind::kDmabuf, &dmabuf);
  const bool host = opencl::coherency(context) == opencl::Coherency::kStanding;
  throw NotImplemented(
      "GPU: " + what + " is not there yet. By the platform's sharing: " + (sharing.empty() ? "offered" : sharing) +
      ". By a dma-buf: " +
      (imports ? "offered: export the surface (vaExportSurfaceHandle), import it by "
                 "dmabuf::import_frame, and give the frame to set_frame"
               : dmabuf) +
      ". In the host's memory: " +
      (host ? "map the surface (vaDeriveImage, vaMapBuffer) and give its planes as tensors, which this "
              "device uses in place"
            : "the device has memory of its own, so a mapped surface would be copied"));
}

}  // namespace tenon::inline v1::gpu_device
