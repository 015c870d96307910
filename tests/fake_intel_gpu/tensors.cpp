// SPDX-License-Identifier: Apache-2.0
// Remote tensors: new, wrapped, parts, copies, shapes.
#include "rows.hpp"

namespace twin {

TWIN_ROW(tensor_new_buffer) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return keys_of(tensor.get_params()) + " " + text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " +
         std::to_string(tensor.get_byte_size()) + " " + shape_text(tensor.get_shape()) + " " + tensor.get_device_name();
}
TWIN_ROW(tensor_new_buffer_strides) {
  api::Core core;
  ClContext context = default_context(core);
  const api::Tensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  std::string text;
  for (const auto stride : tensor.get_strides()) text += std::to_string(stride) + " ";
  return text;
}
TWIN_ROW(tensor_wraps_cl_mem) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const cl_mem buffer = app.buffer(kBytes);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, buffer);
  cl_uint references = 0;
  clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, nullptr);
  return yes(tensor.get() == buffer) + ", retained " + yes(references > 1) + " " +
         text_at(tensor.get_params(), "SHARED_MEM_TYPE");
}
TWIN_ROW(tensor_wraps_cl_buffer) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const cl::Buffer buffer(app.buffer(kBytes));
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, buffer);
  cl::Buffer back = tensor;
  return yes(back() == buffer());
}
TWIN_ROW(tensor_cl_mem_too_small) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{17}, app.buffer(kBytes)); });
}
TWIN_ROW(tensor_cl_mem_larger) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    return shape_text(context.create_tensor(api::element::f32, api::Shape{3}, app.buffer(kBytes)).get_shape());
  });
}
TWIN_ROW(tensor_null_cl_mem) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, static_cast<cl_mem>(nullptr)); });
}
TWIN_ROW(tensor_cl_mem_of_other_context) {
  App app, other;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, other.buffer(kBytes)); });
}
TWIN_ROW(tensor_usm_host) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_host_tensor(api::element::f32, api::Shape{16});
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() != nullptr);
}
TWIN_ROW(tensor_usm_host_is_the_hosts) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_host_tensor(api::element::f32, api::Shape{16});
  std::fill_n(static_cast<float*>(tensor.get()), 16, 3.0f);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor);
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(tensor_usm_device) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() != nullptr);
}
TWIN_ROW(tensor_usm_user) {
  api::Core core;
  ClContext context = default_context(core);
  auto owner = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, owner.get());
  return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " + yes(tensor.get() == owner.get());
}
TWIN_ROW(tensor_usm_user_too_small) {
  api::Core core;
  ClContext context = default_context(core);
  auto owner = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{1 << 20}, owner.get()); });
}
TWIN_ROW(tensor_usm_null) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { context.create_tensor(api::element::f32, api::Shape{16}, static_cast<void*>(nullptr)); });
}
TWIN_ROW(tensor_of_unknown_memory) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(api::element::f32, api::Shape{16}, {{"SHARED_MEM_TYPE", "FOG"}});
  });
}
TWIN_ROW(tensor_surface_in_ocl_context) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(
        api::element::u8, api::Shape{1, 8, 16, 1},
        {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", 5u}, {"VA_PLANE", 0u}});
  });
}
TWIN_ROW(tensor_handle_without_type) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return tried([&] {
    static_cast<api::RemoteContext&>(context).create_tensor(api::element::f32, api::Shape{16},
                                                            {{"MEM_HANDLE", static_cast<void*>(app.buffer(kBytes))}});
  });
}
TWIN_ROW(tensor_data_is_hidden) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16});
  return tried([&] { static_cast<void>(static_cast<api::Tensor&>(tensor).data()); });
}
TWIN_ROW(tensor_as_other_type) {
  api::Core core;
  ClContext context = default_context(core);
  const api::Tensor tensor = context.create_tensor(api::element::f32, api::Shape{16});
  return "buffer " + yes(tensor.is<api::intel_gpu::ocl::ClBufferTensor>()) + ", USM " +
         yes(tensor.is<api::intel_gpu::ocl::USMTensor>()) + ", as USM " +
         tried([&] { static_cast<void>(tensor.as<api::intel_gpu::ocl::USMTensor>()); });
}
TWIN_ROW(tensor_host_is_not_remote) {
  const api::Tensor tensor(api::element::f32, api::Shape{16});
  return yes(tensor.is<api::RemoteTensor>());
}
TWIN_ROW(tensor_copy_both_ways) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_copy_between_remotes) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor first = context.create_tensor(api::element::f32, api::Shape{32});
  api::RemoteTensor second = context.create_usm_device_tensor(api::element::f32, api::Shape{32});
  put(first, counted(32));
  put(second, first);
  return text_of(taken(second));
}
TWIN_ROW(tensor_copy_of_other_shape) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{32});
  return tried([&] {
    put(tensor, counted(16));
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_copy_of_other_type) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{32});
  return tried([&] { tensor.copy_from(api::Tensor(api::element::i32, api::Shape{32})); });
}
TWIN_ROW(tensor_roi) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  api::RemoteTensor part(tensor, At{1, 2}, At{3, 6});
  return shape_text(part.get_shape()) + " " + text_of(taken(part));
}
TWIN_ROW(tensor_roi_is_written_in_place) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(tensor, counted(32));
  api::RemoteTensor part(tensor, At{1, 2}, At{3, 6});
  put(part, counted(8, 100));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_roi_outside) {
  api::Core core;
  ClContext context = default_context(core);
  api::RemoteTensor tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] { api::RemoteTensor part(tensor, At{1, 2}, At{5, 6}); });
}
TWIN_ROW(tensor_set_shape_smaller) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] {
    tensor.set_shape({2, 8});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_set_shape_larger) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{4, 8});
  return tried([&] {
    tensor.set_shape({8, 8});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_set_shape_larger_wrapped) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto tensor = context.create_tensor(api::element::f32, api::Shape{16}, app.buffer(kBytes));
  return tried([&] {
    tensor.set_shape({32});
    return shape_text(tensor.get_shape());
  });
}
TWIN_ROW(tensor_without_elements) {
  api::Core core;
  ClContext context = default_context(core);
  return tried([&] { return shape_text(context.create_tensor(api::element::f32, api::Shape{0, 8}).get_shape()); });
}
TWIN_ROW(tensor_host_of_context) {
  api::Core core;
  ClContext context = default_context(core);
  auto tensor = context.create_host_tensor(api::element::f32, api::Shape{16});
  std::fill_n(static_cast<float*>(tensor.data()), 16, 2.0f);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor);
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(tensor_outlives_its_context) {
  api::RemoteTensor tensor;
  {
    api::Core core;
    ClContext context = default_context(core);
    tensor = context.create_tensor(api::element::f32, api::Shape{16});
  }
  put(tensor, counted(16));
  return text_of(taken(tensor));
}
TWIN_ROW(tensor_from_bad_descriptor) {
  api::Core core;
  return tried([&] {
    core.get_default_context("GPU").create_tensor(
        api::element::f32, api::Shape{16},
        {{"SHARED_MEM_TYPE", "BUFFER_FROM_HANDLE"}, {"MEM_HANDLE", reinterpret_cast<void*>(std::intptr_t{-1})}});
  });
}
TWIN_ROW(tensor_wraps_image) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  const std::vector<unsigned char> pixels(8 * 16, 1);
  const cl_mem image = app.image(CL_R, 16, 8, pixels.data());
  return tried([&] {
    const auto tensor = static_cast<api::RemoteContext&>(context).create_tensor(
        api::element::u8, api::Shape{1, 8, 16, 1},
        {{"SHARED_MEM_TYPE", "OCL_IMAGE2D"}, {"MEM_HANDLE", static_cast<void*>(image)}});
    return text_at(tensor.get_params(), "SHARED_MEM_TYPE") + " " +
           yes(pointer_at(tensor.get_params(), "MEM_HANDLE") == image);
  });
}

}  // namespace twin
