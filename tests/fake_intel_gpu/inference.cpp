// SPDX-License-Identifier: Apache-2.0
// Inference on remote tensors.
#include "rows.hpp"

namespace twin {

TWIN_ROW(infer_buffers_in_user_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  app.write(x, counted(16));
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  run(request);
  return text_of(app.read(y));
}
TWIN_ROW(infer_usm_in_default_context) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  auto x = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  auto y = context.create_usm_device_tensor(api::element::f32, api::Shape{16});
  put(x, counted(16));
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  run(request);
  return text_of(taken(y));
}
TWIN_ROW(infer_tensor_stays_remote) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  const bool before = request.get_tensor("x").is<api::RemoteTensor>();
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}));
  return "own " + yes(before) + ", set " + yes(request.get_tensor("x").is<api::RemoteTensor>());
}
TWIN_ROW(infer_wrong_shape) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{8})); });
}
TWIN_ROW(infer_wrong_type) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  return tried([&] { request.set_tensor("x", context.create_tensor(api::element::i32, api::Shape{16})); });
}
TWIN_ROW(infer_tensor_of_other_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context), own = default_context(core);
  auto request = compiled(core, line16(), context).create_infer_request();
  auto x = own.create_tensor(api::element::f32, api::Shape{16});
  put(x, counted(16));
  return tried([&] {
    request.set_tensor("x", x);
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_rows) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line(folder, "rows", {2, 8}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, counted(32));
  return tried([&] {
    request.set_tensor("x", api::RemoteTensor(whole, At{1, 0}, At{3, 8}));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_columns) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line(folder, "columns", {2, 4}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, counted(32));
  return tried([&] {
    request.set_tensor("x", api::RemoteTensor(whole, At{1, 2}, At{3, 6}));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_roi_output) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line(folder, "rows_out", {2, 8}), context).create_infer_request();
  api::RemoteTensor whole = context.create_tensor(api::element::f32, api::Shape{4, 8});
  put(whole, Floats(32, 0));
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 8}, counted(16)));
    request.set_tensor("y", api::RemoteTensor(whole, At{1, 0}, At{3, 8}));
    run(request);
    return text_of(taken(whole));
  });
}
TWIN_ROW(infer_chain_of_requests) {
  api::Core core;
  ClContext context = default_context(core);
  auto model = compiled(core, line16(), context);
  auto first = model.create_infer_request(), second = model.create_infer_request();
  auto between = context.create_tensor(api::element::f32, api::Shape{16});
  first.set_tensor("x", tensor_of({16}, counted(16)));
  first.set_tensor("y", between);
  second.set_tensor("x", between);
  run(first);
  run(second);
  return text_of(floats_of(second.get_tensor("y")));
}
TWIN_ROW(infer_batch_of_tensors) {
  api::Core core;
  ClContext context = default_context(core);
  auto model = core.read_model(relu(folder, "batch", {2, 3, 4, 4}));
  model->get_parameters()[0]->set_layout("NCHW");
  auto request = core.compile_model(model, context, kPrecise).create_infer_request();
  std::vector<api::Tensor> each;
  for (int i = 0; i < 2; ++i) {
    auto tensor = context.create_tensor(api::element::f32, api::Shape{1, 3, 4, 4});
    put(tensor, counted(48, static_cast<float>(-24 + 100 * i)));
    each.push_back(tensor);
  }
  return tried([&] {
    request.set_tensors("x", each);
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_moving_shape) {
  api::Core core;
  ClContext context = default_context(core);
  auto request = compiled(core, line(folder, "moving", {-1, 4}), context).create_infer_request();
  std::string text;
  for (std::size_t count : {2, 5, 1}) {
    request.set_tensor("x", tensor_of({count, 4}, counted(count * 4)));
    run(request);
    text += shape_text(request.get_tensor("y").get_shape()) + " " + text_of(floats_of(request.get_tensor("y"))) + "; ";
  }
  return text;
}
TWIN_ROW(infer_moving_shape_remote_output) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line(folder, "moving_out", {-1, 4}), context).create_infer_request();
  const cl_mem y = app.buffer(256);
  auto out = context.create_tensor(api::element::f32, api::Shape{16, 4}, y);
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 4}, counted(8)));
    request.set_tensor("y", out);
    run(request);
    return shape_text(request.get_tensor("y").get_shape()) + " " + text_of(app.read(y, 8));
  });
}
TWIN_ROW(infer_moving_shape_wrapped_output_too_small) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  auto request = compiled(core, line(folder, "moving_small", {-1, 4}), context).create_infer_request();
  auto out = context.create_tensor(api::element::f32, api::Shape{1, 4}, app.buffer(16));
  return tried([&] {
    request.set_tensor("x", tensor_of({2, 4}, counted(8)));
    request.set_tensor("y", out);
    run(request);
  });
}
TWIN_ROW(infer_count_that_values_decide) {
  api::Core core;
  return tried([&] {
    auto request = core.compile_model(positions(folder), "GPU", kPrecise).create_infer_request();
    Floats values(16, 0);
    values[3] = values[9] = 1;
    request.set_tensor("x", tensor_of({16}, values));
    run(request);
    return text_of(floats_of(request.get_tensor("y")));
  });
}
TWIN_ROW(infer_after_core_is_gone) {
  api::InferRequest request;
  {
    api::Core core;
    ClContext context = default_context(core);
    request = compiled(core, line16(), context).create_infer_request();
  }
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(infer_imported_into_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  std::stringstream blob;
  compiled(core, line16(), context).export_model(blob);
  auto request = core.import_model(blob, context).create_infer_request();
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(infer_execution_devices) {
  api::Core core;
  ClContext context = default_context(core);
  const auto model = compiled(core, line16(), context);
  const std::vector<std::string> names = model.get_property("EXECUTION_DEVICES").as<std::vector<std::string>>();
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

}  // namespace twin
