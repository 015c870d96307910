/* SPDX-License-Identifier: Apache-2.0
   One compiled model for inputs of several shapes. */
#include "programs.h"

void dynamic_shapes(void) {
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *mine = NULL;
  ov_output_const_port_t* port = NULL;
  ov_shape_t shape;
  static const int64_t kShapes[3][4] = {{1, 3, 1, 2}, {2, 3, 2, 2}, {1, 3, 1, 1}};
  size_t size, k;
  void* data;
  int i;
  MUST(ov_core_create(&core));
  model = small_model(core, "-1,3,-1,-1");
  say("dynamic %d", ov_model_is_dynamic(model));
  MUST(ov_core_compile_model(core, model, "CPU", 2, &compiled, ov_property_key_hint_inference_precision, "f32"));
  MUST(ov_compiled_model_input(compiled, &port));
  say_port("compiled", port);
  ov_output_const_port_free(port);
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_infer_request_get_input_tensor(request, &x));
  for (i = 0; i < 3; ++i) {
    shape = shape_of(4, kShapes[i]);
    MUST(ov_tensor_set_shape(x, shape));
    ov_shape_free(&shape);
    MUST(ov_tensor_get_size(x, &size));
    MUST(ov_tensor_data(x, &data));
    for (k = 0; k < size; ++k) ((float*)data)[k] = (float)k;
    MUST(ov_infer_request_infer(request));
    MUST(ov_infer_request_get_output_tensor(request, &y));
    say_floats("y", y, 24);
    ov_tensor_free(y);
  }
  shape = shape_of(4, kShapes[1]);
  MUST(ov_tensor_create(F32, shape, &mine));
  ov_shape_free(&shape);
  MUST(ov_tensor_data(mine, &data));
  for (k = 0; k < 24; ++k) ((float*)data)[k] = -2;
  MUST(ov_infer_request_set_input_tensor(request, mine));
  MUST(ov_infer_request_start_async(request));
  MUST(ov_infer_request_wait(request));
  MUST(ov_infer_request_get_output_tensor(request, &y));
  say_floats("a tensor of mine", y, 24);
  ov_tensor_free(y);
  shape = shape_of(3, kShapes[1]);
  MUST(ov_tensor_set_shape(mine, shape));
  ov_shape_free(&shape);
  refused("three dimensions", ov_infer_request_set_input_tensor(request, mine), NULL);
  ov_tensor_free(mine);
  ov_tensor_free(x);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  ov_core_free(core);
}
