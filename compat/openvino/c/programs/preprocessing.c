/* SPDX-License-Identifier: Apache-2.0
   Pre- and post-processing: planes of pictures, crops, means, layouts. */
#include <string.h>

#include "programs.h"

static ov_core_t* core;

/* Builds, compiles for the CPU and runs with inputs of bytes that count up; prints the inputs and some of y. */
static void run(const char* what, ov_preprocess_prepostprocessor_t* processor) {
  ov_model_t* model = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t* tensor = NULL;
  size_t inputs, i, bytes, k;
  void* data;
  MUST(ov_preprocess_prepostprocessor_build(processor, &model));
  MUST(ov_core_compile_model(core, model, "CPU", 2, &compiled, ov_property_key_hint_inference_precision, "f32"));
  MUST(ov_compiled_model_inputs_size(compiled, &inputs));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  for (i = 0; i < inputs; ++i) {
    ov_output_const_port_t* port = NULL;
    MUST(ov_compiled_model_input_by_index(compiled, i, &port));
    say_port(what, port);
    ov_output_const_port_free(port);
    MUST(ov_infer_request_get_input_tensor_by_index(request, i, &tensor));
    MUST(ov_tensor_get_byte_size(tensor, &bytes));
    MUST(ov_tensor_data(tensor, &data));
    for (k = 0; k < bytes; ++k) ((unsigned char*)data)[k] = (unsigned char)(100 + k * 3 % 60);
    ov_tensor_free(tensor);
  }
  MUST(ov_infer_request_infer(request));
  MUST(ov_infer_request_get_output_tensor(request, &tensor));
  say_floats(what, tensor, 6);
  ov_tensor_free(tensor);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
}

struct parts {
  ov_model_t* model;
  ov_preprocess_prepostprocessor_t* processor;
  ov_preprocess_input_info_t* in;
  ov_preprocess_input_tensor_info_t* tensor;
  ov_preprocess_preprocess_steps_t* steps;
  ov_preprocess_input_model_info_t* own;
};
static struct parts begin(const char* layout_of_model) {
  struct parts all;
  memset(&all, 0, sizeof(all));
  all.model = small_model(core, "1,3,4,4");
  MUST(ov_preprocess_prepostprocessor_create(all.model, &all.processor));
  MUST(ov_preprocess_prepostprocessor_get_input_info(all.processor, &all.in));
  MUST(ov_preprocess_input_info_get_tensor_info(all.in, &all.tensor));
  MUST(ov_preprocess_input_info_get_preprocess_steps(all.in, &all.steps));
  MUST(ov_preprocess_input_info_get_model_info(all.in, &all.own));
  if (layout_of_model) {
    ov_layout_t* layout = NULL;
    MUST(ov_layout_create(layout_of_model, &layout));
    MUST(ov_preprocess_input_model_info_set_layout(all.own, layout));
    ov_layout_free(layout);
  }
  return all;
}
static void end(struct parts* all) {
  ov_preprocess_input_model_info_free(all->own);
  ov_preprocess_preprocess_steps_free(all->steps);
  ov_preprocess_input_tensor_info_free(all->tensor);
  ov_preprocess_input_info_free(all->in);
  ov_preprocess_prepostprocessor_free(all->processor);
  ov_model_free(all->model);
}
static void set_layout(struct parts* all, const char* text) {
  ov_layout_t* layout = NULL;
  MUST(ov_layout_create(text, &layout));
  MUST(ov_preprocess_input_tensor_info_set_layout(all->tensor, layout));
  ov_layout_free(layout);
}

void preprocessing(void) {
  struct parts all;
  const float by_channel[] = {1, 2, 4};
  int32_t from[] = {0, 1, 1, 0}, to[] = {1, 5, 5, 3};
  const int before[] = {0, 0, 1, 1}, after[] = {0, 0, 1, 1};
  const char* names[] = {"luma", "chroma"};
  ov_layout_t* layout = NULL;
  ov_preprocess_output_info_t* out = NULL;
  ov_preprocess_output_tensor_info_t* result = NULL;
  ov_preprocess_input_info_t* info = NULL;
  ov_model_t* built = NULL;
  MUST(ov_core_create(&core));

  all = begin("NCHW");
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_color_format_with_subname(all.tensor, NV12_TWO_PLANES, 2, "y", "uv"));
  MUST(ov_preprocess_input_tensor_info_set_spatial_static_shape(all.tensor, 8, 8));
  MUST(ov_preprocess_input_tensor_info_set_memory_type(all.tensor, "GPU_SURFACE"));
  MUST(ov_preprocess_preprocess_steps_convert_color(all.steps, BGR));
  MUST(ov_preprocess_preprocess_steps_resize(all.steps, RESIZE_NEAREST));
  run("NV12 in two planes", all.processor);
  end(&all);

  all = begin("NCHW");
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_color_format_with_subnames(all.tensor, NV12_TWO_PLANES, 2, names));
  MUST(ov_preprocess_input_tensor_info_set_spatial_static_shape(all.tensor, 4, 4));
  MUST(ov_preprocess_preprocess_steps_convert_color(all.steps, RGB));
  MUST(ov_preprocess_preprocess_steps_convert_element_type(all.steps, F32));
  MUST(ov_preprocess_preprocess_steps_mean(all.steps, 10));
  MUST(ov_preprocess_preprocess_steps_scale(all.steps, 2));
  run("names of planes", all.processor);
  end(&all);

  all = begin("NCHW");
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_color_format(all.tensor, BGR));
  set_layout(&all, "NHWC");
  MUST(ov_preprocess_preprocess_steps_convert_element_type(all.steps, F32));
  MUST(ov_preprocess_preprocess_steps_reverse_channels(all.steps));
  MUST(ov_preprocess_preprocess_steps_mean_multi_channels(all.steps, by_channel, 3));
  MUST(ov_preprocess_preprocess_steps_scale_multi_channels(all.steps, by_channel, 3));
  MUST(ov_layout_create("NCHW", &layout));
  MUST(ov_preprocess_preprocess_steps_convert_layout(all.steps, layout));
  ov_layout_free(layout);
  run("channels", all.processor);
  end(&all);

  all = begin("NCHW");
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  set_layout(&all, "NHWC");
  MUST(ov_preprocess_input_tensor_info_set_spatial_static_shape(all.tensor, 6, 6));
  came_to("crop", ov_preprocess_preprocess_steps_crop(all.steps, from, 4, to, 4));
  run("crop", all.processor);
  end(&all);

  all = begin("NCHW");
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_spatial_static_shape(all.tensor, 2, 2));
  set_layout(&all, "NCHW");
  MUST(ov_preprocess_preprocess_steps_convert_element_type(all.steps, F32));
  came_to("pad", ov_preprocess_preprocess_steps_pad(all.steps, before, 4, after, 4, 5, CONSTANT));
  run("pad", all.processor);
  end(&all);

  all = begin(NULL);
  MUST(ov_preprocess_prepostprocessor_get_output_info(all.processor, &out));
  MUST(ov_preprocess_output_info_get_tensor_info(out, &result));
  MUST(ov_preprocess_output_set_element_type(result, F32));
  ov_preprocess_output_tensor_info_free(result);
  ov_preprocess_output_info_free(out);
  MUST(ov_preprocess_prepostprocessor_get_output_info_by_name(all.processor, "y", &out));
  ov_preprocess_output_info_free(out);
  MUST(ov_preprocess_prepostprocessor_get_input_info_by_name(all.processor, "x", &info));
  ov_preprocess_input_info_free(info);
  refused("input nowhere", ov_preprocess_prepostprocessor_get_input_info_by_name(all.processor, "nowhere", &info),
          NULL);
  refused("input 5", ov_preprocess_prepostprocessor_get_input_info_by_index(all.processor, 5, &info), NULL);
  refused("output nowhere", ov_preprocess_prepostprocessor_get_output_info_by_name(all.processor, "nowhere", &out),
          NULL);
  came_to("no values", ov_preprocess_preprocess_steps_mean_multi_channels(all.steps, NULL, 3));
  came_to("no number of values", ov_preprocess_preprocess_steps_scale_multi_channels(all.steps, by_channel, 0));
  end(&all);

  /* No layout says which axes are height and width. */
  all = begin(NULL);
  MUST(ov_preprocess_input_tensor_info_set_element_type(all.tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_spatial_static_shape(all.tensor, 8, 8));
  refused("no layout", ov_preprocess_prepostprocessor_build(all.processor, &built), NULL);
  end(&all);
  ov_core_free(core);
}
