/* SPDX-License-Identifier: Apache-2.0
   Requests that run on their own: callbacks, waiting, cancelling, profiling. */
#include <string.h>

#include "programs.h"

static volatile int called, other;
static void count(void* args) { ++*(volatile int*)args; }

void asynchronous(void) {
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t *first = NULL, *second = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *mine = NULL;
  ov_output_const_port_t *in = NULL, *out = NULL;
  ov_output_port_t* port = NULL;
  ov_callback_t callback = {count, (void*)&called};
  ov_profiling_info_list_t infos;
  const int64_t dims[] = {1, 3, 4, 4};
  ov_shape_t shape = shape_of(4, dims);
  float* values;
  void* data;
  size_t i, named = 0;
  MUST(ov_core_create(&core));
  model = small_model(core, "1,3,4,4");
  MUST(ov_core_compile_model(core, model, "CPU", 2, &compiled, ov_property_key_enable_profiling, "YES"));
  MUST(ov_compiled_model_create_infer_request(compiled, &first));
  MUST(ov_compiled_model_create_infer_request(compiled, &second));
  MUST(ov_infer_request_get_input_tensor(first, &x));
  MUST(ov_tensor_data(x, &data));
  values = (float*)data;
  for (i = 0; i < 48; ++i) values[i] = (float)i - 24;
  came_to("wait before a start", ov_infer_request_wait(first));
  came_to("callback", ov_infer_request_set_callback(first, &callback));
  MUST(ov_infer_request_start_async(first));
  MUST(ov_infer_request_wait(first));
  say("called %d", called);
  callback.args = (void*)&other;
  MUST(ov_infer_request_start_async(first));
  came_to("wait for", ov_infer_request_wait_for(first, 60000));
  say("called %d, with other arguments %d", called, other);
  came_to("no callback", ov_infer_request_set_callback(first, NULL));
  MUST(ov_infer_request_get_output_tensor(first, &y));
  say_floats("y", y, 48);
  ov_tensor_free(y);

  MUST(ov_tensor_create(F32, shape, &mine));
  MUST(ov_tensor_data(mine, &data));
  for (i = 0; i < 48; ++i) ((float*)data)[i] = 1;
  MUST(ov_infer_request_set_tensor(second, "x", mine));
  MUST(ov_infer_request_infer(second));
  MUST(ov_infer_request_get_tensor(second, "y", &y));
  say_floats("second y", y, 4);
  ov_tensor_free(y);
  MUST(ov_compiled_model_input(compiled, &in));
  MUST(ov_compiled_model_output(compiled, &out));
  MUST(ov_infer_request_set_tensor_by_const_port(second, in, mine));
  MUST(ov_infer_request_get_tensor_by_const_port(second, out, &y));
  ov_tensor_free(y);
  MUST(ov_model_input(model, &port));
  MUST(ov_infer_request_set_tensor_by_port(second, port, mine));
  MUST(ov_infer_request_get_tensor_by_port(second, port, &y));
  MUST(ov_tensor_data(y, &data));
  MUST(ov_infer_request_set_output_tensor(second, mine));
  MUST(ov_infer_request_set_output_tensor_by_index(second, 0, mine));
  ov_output_port_free(port);
  ov_tensor_free(y);
  MUST(ov_infer_request_get_input_tensor_by_index(second, 0, &y));
  ov_tensor_free(y);
  refused("tensor nowhere", ov_infer_request_set_tensor(second, "nowhere", mine), "nowhere");
  refused("input 9", ov_infer_request_get_input_tensor_by_index(second, 9, &y), NULL);
  came_to("cancel", ov_infer_request_cancel(second));

  came_to("profiling", ov_infer_request_get_profiling_info(first, &infos));
  for (i = 0; i < infos.size; ++i) {
    const ov_profiling_info_t* info = &infos.profiling_infos[i];
    named += info->node_name && info->exec_type && info->node_type && info->real_time >= 0 && info->cpu_time >= 0;
  }
  say("times: some %d, whole %d", infos.size > 0, named == infos.size);
  ov_profiling_info_list_free(&infos);
  say("freed: %d", infos.profiling_infos == NULL && infos.size == 0);
  ov_profiling_info_list_free(NULL);

  ov_output_const_port_free(in);
  ov_output_const_port_free(out);
  ov_tensor_free(mine);
  ov_tensor_free(x);
  ov_shape_free(&shape);
  ov_infer_request_free(second);
  ov_compiled_model_free(compiled);
  /* The request keeps its model. */
  MUST(ov_infer_request_infer(first));
  ov_infer_request_free(first);
  ov_model_free(model);
  ov_core_free(core);
}
