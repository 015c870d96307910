// SPDX-License-Identifier: Apache-2.0
// Contexts: the default one, those made of handles, and what is refused.
#include "rows.hpp"

namespace twin {

TWIN_ROW(context_default_is_one) {
  api::Core core;
  ClContext first = default_context(core), second = default_context(core);
  return "same " + yes(first.get() == second.get()) + ", a cl_context " + yes(first.get() != nullptr);
}
TWIN_ROW(context_of_compiled_model_is_the_default) {
  api::Core core;
  ClContext context = default_context(core);
  auto of_model = core.compile_model(line16(), "GPU", kPrecise).get_context().as<ClContext>();
  return yes(of_model.get() == context.get());
}
TWIN_ROW(context_default_params) {
  api::Core core;
  const auto params = core.get_default_context("GPU").get_params();
  return keys_of(params) + " " + text_at(params, "CONTEXT_TYPE");
}
TWIN_ROW(context_default_queue_is_null) {
  api::Core core;
  return yes(pointer_at(core.get_default_context("GPU").get_params(), "OCL_QUEUE") == nullptr);
}
TWIN_ROW(context_device_name) {
  api::Core core;
  return core.get_default_context("GPU").get_device_name();
}
TWIN_ROW(context_from_cl_context) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  return yes(context.get() == app.context) + " " + keys_of(context.get_params()) + " " + context.get_device_name();
}
TWIN_ROW(context_from_queue) {
  App app;
  api::Core core;
  ClContext context(core, app.queue);
  return yes(context.get() == app.context) + ", its queue " +
         yes(pointer_at(context.get_params(), "OCL_QUEUE") == app.queue);
}
TWIN_ROW(context_retains_handles) {
  App app;
  api::Core core;
  ClContext context(core, app.context);
  clReleaseContext(app.context);
  clReleaseCommandQueue(app.queue);
  auto request = compiled(core, line16(), context).create_infer_request();
  request.set_tensor("x", tensor_of({16}, counted(16)));
  run(request);
  return text_of(floats_of(request.get_tensor("y")));
}
TWIN_ROW(context_null_cl_context) {
  api::Core core;
  return tried([&] { ClContext context(core, static_cast<cl_context>(nullptr)); });
}
TWIN_ROW(context_by_map) {
  App app;
  api::Core core;
  const auto context =
      core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}});
  return yes(pointer_at(context.get_params(), "OCL_CONTEXT") == app.context);
}
TWIN_ROW(context_without_type) {
  App app;
  api::Core core;
  return tried([&] { core.create_context("GPU", {{"OCL_CONTEXT", static_cast<void*>(app.context)}}); });
}
TWIN_ROW(context_of_unknown_type) {
  App app;
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "METAL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}});
  });
}
TWIN_ROW(context_with_unknown_key) {
  App app;
  api::Core core;
  return tried([&] {
    core.create_context(
        "GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(app.context)}, {"COLOUR", "blue"}});
  });
}
TWIN_ROW(context_device_number_out_of_range) {
  App app;
  api::Core core;
  return tried([&] { ClContext context(core, app.context, 7); });
}
TWIN_ROW(context_of_null_display) {
  api::Core core;
  return tried([&] {
    core.create_context("GPU", {{"CONTEXT_TYPE", "VA_SHARED"}, {"VA_DEVICE", static_cast<void*>(nullptr)}});
  });
}
TWIN_ROW(context_as_other_type) {
  api::Core core;
  const auto context = core.get_default_context("GPU");
  return yes(context.is<ClContext>());
}

}  // namespace twin
