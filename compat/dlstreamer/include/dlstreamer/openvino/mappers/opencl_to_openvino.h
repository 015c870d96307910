// SPDX-License-Identifier: Apache-2.0
// Buffers as OpenVINO's tensors: those of the GPU over the cl_mem itself, others over the host memory that it lies in.
#pragma once

#include <memory>

#include "dlstreamer/opencl/context.h"
#include "dlstreamer/openvino/context.h"
#include "dlstreamer/utils.h"

namespace dlstreamer {

class MemoryMapperOpenCLToOpenVINO : public detail::NamedMapper<MemoryType::OpenCL, MemoryType::OpenVINO> {
 public:
  using NamedMapper::map;
  using NamedMapper::NamedMapper;

  TensorPtr map(TensorPtr src, AccessMode mode) override {
    const auto context = ptr_cast<OpenVINOContext>(_output_context);
    if (!context->handle(OpenVINOContext::key::cl_context)) return NamedMapper::map(src, mode);
    // The queue of the plugin does not know ours.
    const auto buffer = ptr_cast<OpenCLTensor>(src);
    buffer->native().memory()->wait_for(detail::to_tenon(mode), tenon::default_deadline());
    DLS_CHECK(buffer->offset() == 0 && src->info().is_contiguous());
    const auto remote = context->remote_context().create_tensor(
        data_type_to_openvino(src->info().dtype), src->info().shape,
        {{"SHARED_MEM_TYPE", std::string("OCL_BUFFER")}, {"MEM_HANDLE", static_cast<void*>(buffer->clmem())}});
    const auto dst = std::make_shared<OpenVINOTensor>(remote, _output_context);
    dst->set_parent(src);
    return dst;
  }
  detail::MapperMaker maker() const override {
    return [](const ContextPtr& input, const ContextPtr& output) {
      return std::make_shared<MemoryMapperOpenCLToOpenVINO>(input, output);
    };
  }
};

namespace detail {
inline const bool kHasOpenclToOpenVino =
    add_special_mapper<MemoryMapperOpenCLToOpenVINO>(MemoryType::OpenCL, MemoryType::OpenVINO);
}  // namespace detail
}  // namespace dlstreamer
