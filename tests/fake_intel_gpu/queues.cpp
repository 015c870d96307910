// SPDX-License-Identifier: Apache-2.0
// The application's queue, shared with inference.
#include "rows.hpp"

namespace twin {

static std::string chain_in(App& app, bool barriers) {
  api::Core core;
  ClContext context(core, app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  const auto barrier = [&] {
    if (barriers) clEnqueueBarrierWithWaitList(app.queue, 0, nullptr, nullptr);
  };
  const float begin = 3;
  app.run("fill", x, &begin);
  barrier();
  request.start_async();
  barrier();
  app.run("twice", y);
  clFinish(app.queue);
  const std::string text = text_of(app.read(y));
  request.wait();
  return text;
}
TWIN_ROW(queue_kernel_inference_kernel) {
  App app;
  return chain_in(app, false);
}
TWIN_ROW(queue_out_of_order_with_barriers) {
  App app(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  return chain_in(app, true);
}
TWIN_ROW(queue_start_async_only_enqueues) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  const cl_mem x = app.buffer(kBytes), y = app.buffer(kBytes);
  request.set_tensor("x", context.create_tensor(api::element::f32, api::Shape{16}, x));
  request.set_tensor("y", context.create_tensor(api::element::f32, api::Shape{16}, y));
  const cl_event gate = clCreateUserEvent(app.context, nullptr);
  clEnqueueBarrierWithWaitList(app.queue, 1, &gate, nullptr);
  const float begin = 3;
  app.run("fill", x, &begin);
  request.start_async();  // Returns although nothing can run yet.
  const bool waits = !request.wait_for(std::chrono::milliseconds(20));
  clSetUserEventStatus(gate, CL_COMPLETE);
  request.wait();
  return "pending " + yes(waits) + " " + text_of(app.read(y));
}
TWIN_ROW(queue_streams_are_one) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return compiled(core, line16(), context).get_property("NUM_STREAMS").as<std::string>();
}
TWIN_ROW(queue_refuses_throughput_streams) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return tried([&] {
    core.compile_model(core.read_model(line16()), context,
                       {{"NUM_STREAMS", "4"}, {"INFERENCE_PRECISION_HINT", api::element::f32}});
  });
}
TWIN_ROW(queue_null) {
  api::Core core;
  return tried([&] { ClContext context(core, static_cast<cl_command_queue>(nullptr)); });
}
TWIN_ROW(queue_of_other_context) {
  App app, other;
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"},
                                {"OCL_CONTEXT", static_cast<void*>(app.context)},
                                {"OCL_QUEUE", static_cast<void*>(other.queue)}});
  });
}

}  // namespace twin
