/* SPDX-License-Identifier: Apache-2.0
   What a program that classifies pictures does: a model from files, pictures as bytes, the best results. */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "programs.h"

static void write_file(const char* name, const void* data, size_t size) {
  FILE* file = fopen(path_of(name), "wb");
  if (!file || fwrite(data, 1, size, file) != size) say("%s cannot be written", name);
  if (file) fclose(file);
}

void classification(void) {
  char xml[4096], path[256], weights[256];
  wchar_t wide[256];
  size_t i, best = 0, count;
  ov_core_t* core = NULL;
  ov_model_t *model = NULL, *prepared = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *input = NULL, *output = NULL;
  ov_preprocess_prepostprocessor_t* processor = NULL;
  ov_preprocess_input_info_t* in = NULL;
  ov_preprocess_input_tensor_info_t* tensor = NULL;
  ov_preprocess_preprocess_steps_t* steps = NULL;
  ov_preprocess_input_model_info_t* own = NULL;
  ov_preprocess_output_info_t* out = NULL;
  ov_preprocess_output_tensor_info_t* result = NULL;
  ov_layout_t *layout = NULL, *models = NULL;
  ov_output_const_port_t* port = NULL;
  const int64_t dims[] = {1, 2, 2, 3};
  unsigned char picture[12];
  ov_shape_t shape = shape_of(4, dims);
  const float* values;
  void* data;
  small_model_text("1,3,4,4", xml, sizeof(xml));
  write_file("small.xml", xml, strlen(xml));
  write_file("small.bin", small_weights, 12);
  MUST(ov_core_create(&core));
  snprintf(path, sizeof(path), "%s", path_of("small.xml"));
  snprintf(weights, sizeof(weights), "%s", path_of("small.bin"));
  swprintf(wide, 256, L"%s", path);
  MUST(ov_core_read_model_unicode(core, wide, NULL, &model));
  ov_model_free(model);
  MUST(ov_core_read_model(core, path, NULL, &model));
  ov_model_free(model);
  MUST(ov_core_read_model(core, path, weights, &model));
  refused("no such file", ov_core_read_model(core, path_of("nothing.xml"), NULL, &prepared), "nothing.xml");

  for (i = 0; i < 12; ++i) picture[i] = (unsigned char)(i * 20);
  MUST(ov_tensor_create_from_host_ptr(U8, shape, picture, &input));
  MUST(ov_preprocess_prepostprocessor_create(model, &processor));
  MUST(ov_preprocess_prepostprocessor_get_input_info_by_index(processor, 0, &in));
  MUST(ov_preprocess_input_info_get_tensor_info(in, &tensor));
  MUST(ov_preprocess_input_tensor_info_set_from(tensor, input));
  MUST(ov_layout_create("NHWC", &layout));
  MUST(ov_preprocess_input_tensor_info_set_layout(tensor, layout));
  MUST(ov_preprocess_input_info_get_preprocess_steps(in, &steps));
  MUST(ov_preprocess_preprocess_steps_resize(steps, RESIZE_NEAREST));
  MUST(ov_preprocess_input_info_get_model_info(in, &own));
  MUST(ov_layout_create("NCHW", &models));
  MUST(ov_preprocess_input_model_info_set_layout(own, models));
  MUST(ov_preprocess_prepostprocessor_get_output_info_by_index(processor, 0, &out));
  MUST(ov_preprocess_output_info_get_tensor_info(out, &result));
  MUST(ov_preprocess_output_set_element_type(result, F32));
  MUST(ov_preprocess_prepostprocessor_build(processor, &prepared));
  MUST(ov_model_const_input(prepared, &port));
  say_port("prepared", port);
  ov_output_const_port_free(port);
  MUST(ov_core_compile_model(core, prepared, "CPU", 0, &compiled));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_infer_request_set_input_tensor_by_index(request, 0, input));
  MUST(ov_infer_request_infer(request));
  MUST(ov_infer_request_get_output_tensor_by_index(request, 0, &output));
  say_floats("scores", output, 16);
  MUST(ov_tensor_get_size(output, &count));
  MUST(ov_tensor_data(output, &data));
  values = (const float*)data;
  for (i = 1; i < count; ++i)
    if (values[i] > values[best]) best = i;
  say("best: %d, %.1f", (int)best, values[best]);

  ov_preprocess_output_tensor_info_free(result);
  ov_preprocess_output_info_free(out);
  ov_preprocess_input_model_info_free(own);
  ov_preprocess_preprocess_steps_free(steps);
  ov_preprocess_input_tensor_info_free(tensor);
  ov_preprocess_input_info_free(in);
  ov_preprocess_prepostprocessor_free(processor);
  ov_layout_free(models);
  ov_layout_free(layout);
  ov_tensor_free(output);
  ov_tensor_free(input);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(prepared);
  ov_model_free(model);
  ov_shape_free(&shape);
  MUST(ov_core_compile_model_from_file(core, path, "CPU", 0, &compiled));
  ov_compiled_model_free(compiled);
  MUST(ov_core_compile_model_from_file_unicode(core, wide, "CPU", 2, &compiled, ov_property_key_num_streams, "1"));
  ov_compiled_model_free(compiled);
  ov_core_free(core);
}
