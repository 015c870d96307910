/* SPDX-License-Identifier: Apache-2.0
   Missing arguments, devices and objects that are not there, and what the last error says. */
#include <string.h>

#include "programs.h"

void errors(void) {
  ov_core_t* core = NULL;
  ov_model_t *model, *none = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_remote_context_t* context = NULL;
  ov_tensor_t *tensor = NULL, *remote = NULL;
  ov_output_const_port_t* port = NULL;
  const int64_t dims[] = {1, 3, 4, 4}, other[] = {1, 3, 4, 5};
  ov_shape_t shape = shape_of(4, dims), wrong = shape_of(4, other);
  char* text = NULL;
  const char* last;
  size_t size;
  MUST(ov_core_create(&core));
  last = ov_get_last_err_msg();
  ov_free(last);
  came_to("no place for a core", ov_core_create(NULL));
  came_to("no configuration", ov_core_create_with_config(NULL, &core));
  came_to("no core", ov_core_read_model(NULL, "a", NULL, &none));
  came_to("no path", ov_core_read_model(core, NULL, NULL, &none));
  came_to("no place for a model", ov_core_read_model(core, "a", NULL, NULL));
  came_to("empty text", ov_core_read_model_from_memory_buffer(core, "x", 0, NULL, &none));
  refused("not XML", ov_core_read_model_from_memory_buffer(core, "<net", 4, NULL, &none), NULL);
  refused("an extension", ov_core_add_extension(core, "/no/such/library.so"), NULL);
  came_to("no extension", ov_core_add_extension(core, NULL));

  model = small_model(core, "1,3,4,4");
  refused("no such device", ov_core_compile_model(core, model, "TOASTER", 0, &compiled), "TOASTER");
  came_to("no model", ov_core_compile_model(core, NULL, "CPU", 0, &compiled));
  came_to("no place", ov_core_compile_model(core, model, "CPU", 0, NULL));
  refused("no such file", ov_core_compile_model_from_file(core, "/no/such/model.xml", "CPU", 0, &compiled),
          "model.xml");
  MUST(ov_core_compile_model(core, model, "CPU", 0, &compiled));
  refused("input nowhere", ov_compiled_model_input_by_name(compiled, "nowhere", &port), "nowhere");
  refused("output 3", ov_compiled_model_output_by_index(compiled, 3, &port), NULL);
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_tensor_create(F32, wrong, &tensor));
  refused("another shape", ov_infer_request_set_input_tensor(request, tensor), NULL);
  ov_tensor_free(tensor);
  MUST(ov_tensor_create(I32, shape, &tensor));
  refused("another type", ov_infer_request_set_input_tensor(request, tensor), NULL);
  came_to("no tensor", ov_infer_request_set_input_tensor(request, NULL));
  came_to("no request", ov_infer_request_infer(NULL));
  came_to("no request to wait for", ov_infer_request_wait_for(NULL, 1));

  came_to("a host tensor's parameters", ov_remote_tensor_get_params(tensor, &size, &text));
  came_to("a host tensor's device", ov_remote_tensor_get_device_name(tensor, &text));
  fails("the CPU's context", ov_core_create_context(core, "CPU", 0, &context));
  fails("its default context", ov_core_get_default_context(core, "CPU", &context));
  fails("a compiled model's context", ov_compiled_model_get_context(compiled, &context));
  came_to("no context", ov_remote_context_create_tensor(NULL, F32, shape, 0, &remote));
  came_to("no context's name", ov_remote_context_get_device_name(NULL, &text));
  came_to("no context's parameters", ov_remote_context_get_params(NULL, &size, &text));
  came_to("no context's host tensor", ov_remote_context_create_host_tensor(NULL, F32, shape, &remote));
  came_to("an odd number of arguments", ov_core_create_context(core, "CPU", 3, &context, "A", "B", "C"));

  refused("input 9", ov_model_const_input_by_index(model, 9, &port), NULL);
  last = ov_get_last_err_msg();
  say("a last error: %d", last != NULL);
  ov_free(last);
  ov_tensor_free(tensor);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  ov_shape_free(&shape);
  ov_shape_free(&wrong);
  ov_core_free(core);
  last = ov_get_last_err_msg();
  say("after the core: %d", last != NULL);
  ov_core_free(NULL);
  ov_model_free(NULL);
  ov_compiled_model_free(NULL);
  ov_infer_request_free(NULL);
  ov_remote_context_free(NULL);
  ov_output_const_port_free(NULL);
  ov_output_port_free(NULL);
  ov_free(NULL);
  ov_shutdown();
}
