// SPDX-License-Identifier: Apache-2.0
// Values of devices' own types; each device's headers are there if the device is.
#include <openvino/runtime/core.hpp>
#include <tenon/core/any.hpp>

#include "convert.hpp"
#include "device_values.hpp"
#if __has_include(<openvino/runtime/intel_gpu/remote_properties.hpp>)
#include <openvino/runtime/intel_gpu/remote_properties.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#define OV_TENON_GPU
#endif
#if __has_include(<openvino/runtime/intel_npu/remote_properties.hpp>)
#include <openvino/runtime/intel_npu/remote_properties.hpp>
#include <tenon/devices/npu/public/remote_properties.hpp>
#define OV_TENON_NPU
#endif

namespace ov {
namespace detail {

bool device_value_to([[maybe_unused]] const Any& value, [[maybe_unused]] tenon::Any& result) {
#ifdef OV_TENON_GPU
  if (value.is<intel_gpu::FileDescriptor>()) {
    const auto& file = value.as<intel_gpu::FileDescriptor>();
    result = tenon::intel_gpu::FileDescriptor(file.path, file.offset,
                                              static_cast<tenon::intel_gpu::AccessMode>(file.access));
    return true;
  }
#endif
#ifdef OV_TENON_NPU
  if (value.is<intel_npu::FileDescriptor>()) {
    const auto& file = value.as<intel_npu::FileDescriptor>();
    result = tenon::intel_npu::FileDescriptor(file._file_path, file._offset_in_bytes);
    return true;
  }
#endif
  return false;
}

}  // namespace detail
}  // namespace ov
