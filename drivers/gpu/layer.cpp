// SPDX-License-Identifier: Apache-2.0
// The two calls by which an OpenCL loader takes a layer.
#include <tenon/drivers/gpu/layer.hpp>

namespace tenon::gpu_layer {

cl_icd_dispatch runtime;

}  // namespace tenon::gpu_layer

namespace {

constexpr std::size_t kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);

}  // namespace

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info key, size_t size,
                                                                                    void* value, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  return key == CL_LAYER_API_VERSION ? tenon::gpu_layer::answer(&version, 1, size, value, size_ret) : CL_INVALID_VALUE;
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                                                                 const cl_icd_dispatch* target,
                                                                                 cl_uint* entries_ret,
                                                                                 const cl_icd_dispatch** table_ret) {
  using namespace tenon::gpu_layer;
  static cl_icd_dispatch table;
  // A loader with fewer entries is older than OpenCL 3.0, whose calls the layer makes.
  if (!target || !entries_ret || !table_ret || entries < kEntries) return CL_INVALID_VALUE;
  runtime = *target;
  table = *target;
  install_identity(table);
  install_programs(table);
  install_blocking(table);
  install_memory(table);
  install_surfaces(table);
  *entries_ret = kEntries;
  *table_ret = &table;
  return CL_SUCCESS;
}
